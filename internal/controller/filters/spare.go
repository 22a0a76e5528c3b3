package filters

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

// fit replaces the plugin NodeResourcesFit, which compares amounts of resources. It calls the
// original plugin only if a node may lack room. The original plugin then decides, and says what is
// missing. The original plugin is slower: in each cycle it adds up the pod's requests, which are
// already known, and for each node it matches the names of extended resources with regular
// expressions.
type fit struct {
	*noderesources.Fit
	lister *lister
	asked  *Pod           // the pod for which PreFilter of the original plugin was last called
	state  fwk.CycleState // what this call of PreFilter wrote
}

// PreFilter does nothing. PreFilter of the original plugin adds up the pod's requests, but these are
// already known.
func (f *fit) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, nil
}

// Filter accepts a node that has room for all requests of the pod. The original plugin
// NodeResourcesFit would accept the node, too, because the plugin checks the same requests or
// fewer. For other nodes, Filter calls the original plugin.
func (f *fit) Filter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if f.lister.pod.fits(node.(*nodeInfo)) {
		return nil
	}
	if f.asked != f.lister.pod {
		f.asked, f.state = f.lister.pod, framework.NewCycleState()
		if _, status := f.Fit.PreFilter(ctx, f.state, pod, nil); !status.IsSuccess() {
			f.asked = nil
			return status
		}
	}
	return f.Fit.Filter(ctx, f.state, pod, node)
}

// fits reports whether a node has room for all requests of a pod. It may return false although
// kube-scheduler's plugin NodeResourcesFit accepts the node. For example, it returns false for a
// pod that has already run, because the pod's status may replace its requests.
func (p *Pod) fits(node *nodeInfo) bool {
	request, have, used := p.info.CalculateResource().Resource, node.Allocatable, node.Requested
	if p.started || len(node.Pods) >= have.AllowedPodNumber || request.GetMilliCPU() > max(0, have.MilliCPU-used.MilliCPU) ||
		request.GetMemory() > max(0, have.Memory-used.Memory) ||
		request.GetEphemeralStorage() > max(0, have.EphemeralStorage-used.EphemeralStorage) {
		return false
	}
	for name, amount := range request.GetScalarResources() {
		if amount > have.ScalarResources[name]-used.ScalarResources[name] {
			return false
		}
	}
	return true
}

// started reports whether a pod's status reports containers or resources. These may count in place
// of the requests in its spec, as in an in-place resize.
func started(s *v1.PodStatus) bool {
	return len(s.ContainerStatuses)+len(s.InitContainerStatuses) > 0 || s.Resources != nil
}

// skipped is the status that PreFilter of a plugin returns if the plugin's Filter has nothing to
// check for the pod.
var skipped = fwk.NewStatus(fwk.Skip)

// affinity replaces the plugin InterPodAffinity. It saves time in two ways. First, it calls the
// original plugin only if some (anti-)affinity matters for the pod. The original plugin would
// prepare its state in any case. Second, if the pod's field `requires` is not empty, it shows the
// original plugin only the nodes that may have matching pods (see lister.required). The original
// plugin counts the matching pods on all nodes that it gets.
type affinity struct {
	*interpodaffinity.InterPodAffinity
	lister *lister
}

// PreFilter skips the plugin if it has nothing to check: the pod has no required (anti-)affinity,
// and no placed pod excludes it by anti-affinity. PreFilter cannot tell by the pod's field `wide`
// whether the pod has required (anti-)affinity or only required topology spread. If the pod has
// only required topology spread, PreFilter calls the original plugin, which then skips itself.
func (a *affinity) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if !a.lister.pod.wide && len(a.lister.apart()) == 0 {
		return nil, skipped
	}
	if a.lister.pod.requires != "" {
		nodes = a.lister.required()
	}
	return a.InterPodAffinity.PreFilter(ctx, state, pod, nodes)
}
