package filter

import (
	"slices"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// exclusive distributes the exclusive CPUs of a pod's containers over a node's NUMA
// nodes. It returns the containers with the number of CPUs on each NUMA node, or the
// reason why the CPUs do not fit. The argument `gpus` has the GPUs from which the pod's
// GPUs will be chosen. These GPUs matter only if a container's CPUs and GPUs must be
// on one NUMA node.
func exclusive(pod *sched.Pod, node *sched.Node, gpus candidates) ([]podspec.Container, sched.Reason) {
	if len(pod.Exclusive) == 0 {
		return nil, sched.Reason{}
	}
	if len(node.NUMA) == 0 {
		return nil, sched.Reason{Code: sched.NoExclusive}
	}
	v := view(node)
	counts, why := numaplan.Plan(request(pod), v, numaplan.Hooks{Allow: gpus.allow(pod, node)})
	if why != numaplan.Fits {
		return nil, sched.Reason{Code: codeOf(why)}
	}
	all := slices.Clone(pod.Exclusive)
	for c, n := range counts {
		all[c].PerNode = v.PerNode(n)
	}
	return all, sched.Reason{}
}

func request(pod *sched.Pod) numaplan.Request {
	return numaplan.Request{Policy: pod.CPUPolicy, Seed: pod.Seed, Containers: pod.Exclusive, Effort: pod.Effort}
}

// view returns the NUMA nodes of a node's record in the format of package numaplan,
// which distributes CPUs over NUMA nodes.
func view(node *sched.Node) numaplan.View {
	v := numaplan.View{NUMA: make([]numaplan.NUMANode, len(node.NUMA)), CoreWidth: node.CoreWidth, KeepShared: node.Spare > 0}
	for i, on := range node.NUMA {
		v.NUMA[i] = numaplan.NUMANode{ID: on.ID, FreeCPUs: on.FreeCPUs, FreeMemory: int64(on.FreeMemory), Spare: node.Spare}
	}
	return v
}

// codeOf returns the sched.Code for a numaplan.Outcome that says why a pod does not
// fit. The argument must not be numaplan.Fits.
func codeOf(why numaplan.Outcome) sched.Code {
	switch why {
	case numaplan.Uneven:
		return sched.Uneven
	case numaplan.NoNode:
		return sched.NoNUMANode
	case numaplan.NoMemory:
		return sched.NoLocalMemory
	case numaplan.NotAllowed:
		return sched.NoLocalGPU
	case numaplan.NoneShared:
		return sched.NoSharedCPU
	case numaplan.SearchCut:
		return sched.SearchCut
	}
	return sched.FewExclusive
}
