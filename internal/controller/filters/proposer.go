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

// Proposer has the filters of one first-tier scheduler: PreFilter, Filter and the plugins that rate
// nodes. It implements sched.Relay and sched.Preferrer, and must be used from one goroutine.
type Proposer struct {
	ctx       context.Context
	config    *Configuration
	instances []*instance // by profile
	claiming  []*instance // by profile, for pods with volumes or devices; nil if these are not checked
	*instance             // of the current pod's profile
	lister    *lister
	*begun                 // of the current pod
	deferred  bool         // Begin has not run PreFilter for the current pod
	nowhere   sched.Reason // why no node suits it, from PreFilter

	// These are set by Preferring.
	wish   wishes                           // of the current pod
	nodes  int                              // in the cluster
	images map[string]fwk.ImageStateSummary // of the current pod, if they matter
}

// begun is the result of PreFilter for a pod. It is immutable.
type begun struct {
	mark    uint64 // of the cluster's changes, from before PreFilter
	state   fwk.CycleState
	skip    skips            // plugins that do not concern the pod
	only    sets.Set[string] // the nodes that PreFilter selected; nil for all
	outside sched.Reason     // why the other nodes do not suit
	room    framework.CycleState
}

// newBegun returns an empty result.
func (p *Proposer) newBegun() *begun {
	b := &begun{}
	if b.state = &b.room; p.lister.pod.wide {
		b.mark = p.lister.cluster.changes.mark()
	}
	return b
}

// NewProposer returns the filters of one first-tier scheduler. They check volumes and devices if
// the API has Claims.
func NewProposer(ctx context.Context, c *Cluster, api API) (*Proposer, error) {
	return newProposer(ctx, c, api, local())
}

// NewPlanner returns filters without the comparison of amounts, for a caller that asks whether a
// node will suit after other pods end and compares amounts itself.
func NewPlanner(ctx context.Context, c *Cluster, api API) (*Proposer, error) {
	return newProposer(ctx, c, api, slices.DeleteFunc(local(), func(name string) bool { return name == names.NodeResourcesFit }))
}

// newProposer returns a Proposer with the plugins of those names, and those of volumes and devices.
func newProposer(ctx context.Context, c *Cluster, api API, plugins []string) (*Proposer, error) {
	configuration, err := api.configuration()
	if err != nil {
		return nil, err
	}
	l := newLister(c, api)
	p := &Proposer{ctx: ctx, config: configuration, lister: l}
	if p.instances, err = newInstances(ctx, l, api, plugins); err != nil {
		return nil, err
	}
	if api.Claims != nil {
		if p.claiming, err = newInstances(ctx, l, api, append(plugins, claiming()...)); err != nil {
			return nil, err
		}
	}
	p.instance = p.instances[0]
	return p, nil
}

// use makes a pod the current one.
func (p *Proposer) use(pod *sched.Pod) {
	p.lister.pod, p.nowhere = pod.Foreign.(*Pod), sched.Reason{}
	p.instance = p.instanceOf(pod)
}

// instanceOf returns the instance for a pod. The plugins of volumes and devices do not concern most
// pods, so these pods have an instance without them. Any goroutine may call it.
func (p *Proposer) instanceOf(pod *sched.Pod) *instance {
	all := p.instances
	if p.claiming != nil && pod.Foreign.(*Pod).claim {
		all = p.claiming
	}
	if len(all) == 1 {
		return all[0]
	}
	return all[p.config.profile(pod.Profile)]
}

// Begin runs PreFilter for a pod, whose Foreign must be a *Pod. If the rules of the pod already
// show that no node suits it, Begin returns an empty list of nodes, and the first Check runs
// PreFilter.
func (p *Proposer) Begin(pod *sched.Pod) ([]string, sched.Reason) {
	p.use(pod)
	few := p.few()
	if p.deferred = few != nil && len(few) == 0; p.deferred {
		p.begun = p.newBegun()
		return few, sched.Reason{}
	}
	only, why := p.prepare()
	if only == nil && !why.Refuses() {
		only = few
	}
	return only, why
}

// prepare runs PreFilter for the current pod.
func (p *Proposer) prepare() ([]string, sched.Reason) {
	if p.prepareAlike() {
		return nil, sched.Reason{}
	}
	p.begun = p.newBegun()
	nodes, _ := p.lister.List()
	var usual bool
	if p.skip, usual = p.runner.preFilter(p.ctx, p.state, p.lister.pod.info.Pod, nodes); usual {
		p.keepCounted()
		return nil, sched.Reason{}
	}
	return p.beginUpstream()
}

// beginLocal runs PreFilter for the current pod without the filters that read all nodes. Filter
// then leaves them out, too.
func (p *Proposer) beginLocal() sched.Reason {
	p.deferred = false
	p.begun = p.newBegun()
	only, status := p.runner.preFilterLocal(p.ctx, p.state, p.lister.pod.info.Pod, &p.begun.skip)
	if !status.IsSuccess() {
		return reason(status, sched.Anywhere)
	}
	if !only.AllNodes() {
		p.only, p.outside = only.NodeNames, sched.Reason{Code: sched.Other, Detail: "node(s) were not selected by PreFilter"}
	}
	return sched.Reason{}
}

// beginUpstream runs PreFilter through the framework, which handles every possible result.
func (p *Proposer) beginUpstream() ([]string, sched.Reason) {
	p.begun = p.newBegun()
	result, status, by := p.framework.RunPreFilterPlugins(p.ctx, p.state, p.lister.pod.info.Pod)
	p.skip = p.runner.named(sets.List(p.state.GetSkipFilterPlugins())...)
	if !status.IsSuccess() || result.AllNodes() {
		return nil, reason(status, sched.Anywhere)
	}
	p.only = result.NodeNames
	p.outside = sched.Reason{Code: sched.Other, Detail: fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by))}
	return sets.List(p.only), sched.Reason{}
}

// Results returns the result of Begin.
func (p *Proposer) Results() any { return p.begun }

// Resume continues with the result of another Proposer's Begin.
func (p *Proposer) Resume(pod *sched.Pod, with any) sched.Reason {
	p.use(pod)
	p.begun, p.deferred = with.(*begun), false
	return sched.Reason{}
}

// Check returns why a node's newest info does not suit the current pod.
func (p *Proposer) Check(node *sched.Node) sched.Reason {
	if p.deferred {
		p.deferred = false
		_, p.nowhere = p.prepare()
	}
	if p.nowhere.Refuses() {
		return p.nowhere
	}
	if p.only != nil && !p.only.Has(node.Name) {
		return p.outside
	}
	info := p.lister.at(node)
	if info == nil {
		return sched.Reason{Code: sched.Other, Detail: "node(s) were gone"}
	}
	pod := p.lister.pod.info.Pod
	if why := reason(p.runner.filter(p.ctx, p.state, p.skip, pod, info), sched.Other); why.Refuses() {
		return why
	}
	if full := p.lister.cluster.nominated.before(pod, info); full != nil {
		return reason(p.runner.filter(p.ctx, p.state, p.skip, pod, full), sched.Other)
	}
	return sched.Reason{}
}
