package filters

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

// fit is upstream's comparison of amounts, which is asked only for its words. It
// sums a pod's requests up for each cycle, though they were known before, and
// matches the name of each extended resource with regular expressions for each
// node.
type fit struct {
	*noderesources.Fit
	lister *lister
	asked  *Pod           // that upstream was asked about last
	state  fwk.CycleState // what it found out
}

// PreFilter finds out nothing: the amounts are known.
func (f *fit) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, nil
}

// Filter lets a node pass that has room for everything, which upstream does,
// too; whatever it leaves out can only let more nodes pass.
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

// fits reports whether a node has room for everything that the pod requests. It
// may be false where upstream disagrees, and is for pods that have been on a
// node: what those hold instead of what they request is for upstream to say.
func (p *Pod) fits(node *nodeInfo) bool {
	ask, have, used := p.info.CalculateResource().Resource, node.Allocatable, node.Requested
	if p.started || len(node.Pods) >= have.AllowedPodNumber || ask.GetMilliCPU() > max(0, have.MilliCPU-used.MilliCPU) ||
		ask.GetMemory() > max(0, have.Memory-used.Memory) ||
		ask.GetEphemeralStorage() > max(0, have.EphemeralStorage-used.EphemeralStorage) {
		return false
	}
	for name, amount := range ask.GetScalarResources() {
		if amount > have.ScalarResources[name]-used.ScalarResources[name] {
			return false
		}
	}
	return true
}

// started reports whether a pod's status has a say in what it requests.
func started(s *v1.PodStatus) bool {
	return len(s.ContainerStatuses)+len(s.InitContainerStatuses) > 0 || s.Resources != nil
}

// skipped is the status of a plugin that has nothing to judge.
var skipped = fwk.NewStatus(fwk.Skip)

// affinity is upstream's (anti-)affinity between pods, which is asked only where
// there is some: it makes everything ready before it sees that there is none.
type affinity struct {
	*interpodaffinity.InterPodAffinity
	lister *lister
}

// PreFilter says that there is nothing to judge for a pod that requires nothing
// of other pods, if no placed pod keeps apart from it.
func (a *affinity) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if !a.lister.pod.wide && len(a.lister.apart()) == 0 {
		return nil, skipped
	}
	return a.InterPodAffinity.PreFilter(ctx, state, pod, nodes)
}
