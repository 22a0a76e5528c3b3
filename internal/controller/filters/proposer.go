package filters

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/numalet/numalet/pkg/sched"
)

// Proposer is the filters of one first-tier scheduler, a sched.Relay: PreFilter
// and Filter. It leaves out volumes and devices that are given away once, which
// only the Committer knows. It serves one goroutine.
type Proposer struct {
	ctx       context.Context
	framework framework.Framework
	runner    *runner // of the framework's plugins
	lister    *lister
	*begun    // with the pod in hand
}

// begun is what PreFilter found out about a pod. It does not change any more.
type begun struct {
	state   fwk.CycleState
	skip    skips            // the plugins that have nothing to say about it
	only    sets.Set[string] // the nodes that PreFilter left; nil for all
	outside sched.Reason     // why the others do not suit
	room    framework.CycleState
}

// newBegun returns one with an empty state.
func newBegun() *begun {
	b := &begun{}
	b.state = &b.room
	return b
}

// NewProposer returns the filters of one first-tier scheduler.
func NewProposer(ctx context.Context, c *Cluster, api API) (*Proposer, error) {
	l := newLister(c, api)
	f, r, err := newFramework(ctx, l, api, local())
	if err != nil {
		return nil, err
	}
	return &Proposer{ctx: ctx, framework: f, runner: r, lister: l}, nil
}

// NewExplainer returns filters that tell people why no node suits: those of
// volumes and devices, too. Of these it knows what the API says, and not what
// the Committer has set aside, so that it must not propose.
func NewExplainer(ctx context.Context, c *Cluster, api API) (*Proposer, error) {
	return newProposer(ctx, c, api, append(local(), claiming()...))
}

// NewPlanner returns an Explainer's filters, less the one that compares amounts: for who
// asks whether a node suits once others have ended, and sees to the amounts itself.
func NewPlanner(ctx context.Context, c *Cluster, api API) (*Proposer, error) {
	enabled := slices.DeleteFunc(append(local(), claiming()...), func(name string) bool { return name == names.NodeResourcesFit })
	return newProposer(ctx, c, api, enabled)
}

// newProposer returns those filters, of which some are of volumes or devices.
func newProposer(ctx context.Context, c *Cluster, api API, enabled []string) (*Proposer, error) {
	options, err := claimOptions(ctx, api)
	if err != nil {
		return nil, err
	}
	l := newLister(c, api)
	f, r, err := newFramework(ctx, l, api, enabled, options...)
	if err != nil {
		return nil, err
	}
	return &Proposer{ctx: ctx, framework: f, runner: r, lister: l}, nil
}

// Begin turns to a pod, whose Foreign has to be a *Pod.
func (p *Proposer) Begin(pod *sched.Pod) ([]string, sched.Reason) {
	p.lister.pod, p.begun = pod.Foreign.(*Pod), newBegun()
	nodes, _ := p.lister.List()
	var usual bool
	if p.skip, usual = p.runner.preFilter(p.ctx, p.state, p.lister.pod.info.Pod, nodes); usual {
		return nil, sched.Reason{}
	}
	return p.beginUpstream()
}

// beginUpstream has the framework itself turn to the pod in hand, for all that
// may come of it.
func (p *Proposer) beginUpstream() ([]string, sched.Reason) {
	p.begun = newBegun()
	result, status, by := p.framework.RunPreFilterPlugins(p.ctx, p.state, p.lister.pod.info.Pod)
	p.skip = p.runner.named(sets.List(p.state.GetSkipFilterPlugins())...)
	if !status.IsSuccess() || result.AllNodes() {
		return nil, reason(status, sched.Anywhere)
	}
	p.only = result.NodeNames
	p.outside = sched.Reason{Code: sched.Other, Detail: fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by))}
	return sets.List(p.only), sched.Reason{}
}

// Begun returns what Begin found out.
func (p *Proposer) Begun() any { return p.begun }

// Resume turns to a pod with which another Proposer has begun.
func (p *Proposer) Resume(pod *sched.Pod, with any) sched.Reason {
	p.lister.pod, p.begun = pod.Foreign.(*Pod), with.(*begun)
	return sched.Reason{}
}

// Check says why a node does not suit that pod, by the node's newest info.
func (p *Proposer) Check(node *sched.Node) sched.Reason {
	if p.only != nil && !p.only.Has(node.Name) {
		return p.outside
	}
	info := p.lister.at(node)
	if info == nil {
		return sched.Reason{Code: sched.Other, Detail: "node(s) were gone"}
	}
	return reason(p.runner.filter(p.ctx, p.state, p.skip, p.lister.pod.info.Pod, info), sched.Other)
}
