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

// Proposer has the filters of one proposer, which is a goroutine that lists the nodes that suit a
// pod best. The filters are PreFilter, Filter and the plugins that rate nodes. Proposer implements
// sched.Relay and sched.Preferrer. Only one goroutine may use a Proposer.
type Proposer struct {
	ctx       context.Context
	config    *Configuration
	instances []*instance // by profile
	claiming  []*instance // by profile, for pods with volumes or devices; nil if volumes and devices are not checked
	*instance             // the instance for the current pod, which is the pod last given to Begin or Resume
	lister    *lister
	*begun                 // results for the current pod
	deferred  bool         // Begin has not run PreFilter for the current pod; the first Check will
	nowhere   sched.Reason // why no node suits the current pod; set only if the first call of Check has run PreFilter

	// The method Preferring sets the fields below.
	wish   wishes                           // whether the current pod or its profile prefers some nodes
	nodes  int                              // number of nodes in the cluster
	images map[string]fwk.ImageStateSummary // images of the current pod that matter for ratings
}

// begun is the result of PreFilter for a pod. The plugins that the same Proposer runs after
// PreFilter may add data to the field `state`. After the proposer has listed the nodes that suit
// the pod, begun does not change any more, because the committer (another goroutine) may read it
// (see Resume).
type begun struct {
	mark    uint64 // number of the first change (see the type `changes`) that was stored after PreFilter began; 0 if the pod has no required pod (anti-)affinity and no required topology spread
	state   fwk.CycleState
	skip    skips            // the Filter plugins that need not run for the pod
	only    sets.Set[string] // the nodes to which PreFilter restricts the pod; nil for all
	outside sched.Reason     // the reason to refuse the nodes that are not in the field `only`
	room    framework.CycleState
}

// newBegun returns an empty result of PreFilter for the current pod.
func (p *Proposer) newBegun() *begun {
	b := &begun{}
	if b.state = &b.room; p.lister.pod.wide {
		b.mark = p.lister.cluster.changes.mark()
	}
	return b
}

// NewProposer returns the filters of one proposer. They include the plugins for volumes and devices
// if api.Claims is not nil.
func NewProposer(ctx context.Context, c *Cluster, api API) (*Proposer, error) {
	return newProposer(ctx, c, api, local())
}

// NewPlanner returns filters that do not compare amounts of resources. They are for a caller that
// asks whether a node will suit a pod after other pods have ended, and that compares the amounts
// itself.
func NewPlanner(ctx context.Context, c *Cluster, api API) (*Proposer, error) {
	return newProposer(ctx, c, api, slices.DeleteFunc(local(), func(name string) bool { return name == names.NodeResourcesFit }))
}

// newProposer returns a Proposer with the named plugins. If api.Claims is not nil, pods with
// volumes or devices are also filtered by the plugins for these.
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

// The method `use` makes a pod the current pod.
func (p *Proposer) use(pod *sched.Pod) {
	p.lister.pod, p.nowhere = pod.Foreign.(*Pod), sched.Reason{}
	p.instance = p.instanceOf(pod)
}

// instanceOf returns the instance that filters a pod. Pods without volumes and devices, that is,
// most pods, have an instance without the plugins for volumes and devices. Any goroutine may call
// instanceOf.
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

// Begin runs PreFilter for a pod, whose Foreign must be a *Pod. It returns the nodes that may suit
// the pod (nil for all nodes), or a reason if no node suits the pod. Begin returns an empty list
// and no reason if the pod's rules (such as its node selector) admit no node, or if no pod on any
// node matches the pod's required pod affinity. A proposer then checks no node, unless it explains
// why no node suits the pod. So the work of PreFilter would usually be wasted, and Begin leaves it
// to the first call of Check.
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

// prepare runs PreFilter for the current pod. It returns the nodes to which PreFilter restricts the
// pod (nil for all nodes), or a reason if no node suits the pod.
func (p *Proposer) prepare() ([]string, sched.Reason) {
	if p.prepareAlike() {
		return nil, sched.Reason{}
	}
	p.begun = p.newBegun()
	// The plugins PodTopologySpread and InterPodAffinity read the list `nodes`. If the pod's field
	// `requires` is not empty, InterPodAffinity gets a shorter list instead: the nodes that may
	// have pods that the pod's required (anti-)affinity selects (see affinity.PreFilter).
	var nodes []fwk.NodeInfo
	if len(p.lister.pod.spread) > 0 || p.lister.pod.requires == "" {
		nodes, _ = p.lister.List()
	}
	var usual bool
	if p.skip, usual = p.runner.preFilter(p.ctx, p.state, p.lister.pod.info.Pod, nodes); usual {
		p.keepCounted()
		return nil, sched.Reason{}
	}
	return p.beginUpstream()
}

// beginLocal runs PreFilter for the current pod, but leaves out the plugins PodTopologySpread and
// InterPodAffinity, which count pods on many nodes. Later calls of Check leave these plugins out as
// well.
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

// beginUpstream runs PreFilter for the current pod through kube-scheduler's framework, and returns
// the results that the method `prepare` must return. The framework is slower than runner.preFilter,
// but handles all results, such as a plugin that refuses the pod or restricts it to certain nodes.
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

// Results returns the results of the last call of Begin. They are for Resume of another Proposer.
func (p *Proposer) Results() any { return p.begun }

// Resume is called in place of Begin. It makes a pod the current pod, and uses the results that
// Begin of another Proposer has computed for the pod.
func (p *Proposer) Resume(pod *sched.Pod, with any) sched.Reason {
	p.use(pod)
	p.begun, p.deferred = with.(*begun), false
	return sched.Reason{}
}

// Check returns the reason why a node does not suit the current pod, or an empty reason if the node
// suits. It uses the newest nodeInfo of the node. If pods are planned on the node, it instead uses
// a nodeInfo that also has these pods (see the type `planned`).
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
