package filter

import (
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/sched"
)

// exclusive distributes the exclusive containers of a pod over a node's NUMA
// nodes, near the cards that some of them need.
func exclusive(pod *sched.Pod, node *sched.Node, cards hand) ([]sched.ContainerCPUs, sched.Reason) {
	if len(pod.Exclusive) == 0 {
		return nil, sched.Reason{}
	}
	if len(node.NUMA) == 0 {
		return nil, sched.Reason{Code: sched.NoExclusive}
	}
	v := view(node)
	counts, why := numaplan.Plan(request(pod), v, numaplan.Hooks{Allow: cards.allow(pod, node)})
	if why != numaplan.Fits {
		return nil, sched.Reason{Code: codeOf(why)}
	}
	all := make([]sched.ContainerCPUs, len(counts))
	for c, n := range counts {
		all[c] = sched.ContainerCPUs{Container: pod.Exclusive[c].Name, PerNode: v.PerNode(n)}
	}
	return all, sched.Reason{}
}

func request(pod *sched.Pod) numaplan.Request {
	return numaplan.Request{Policy: pod.CPUPolicy, Seed: pod.Seed, Containers: pod.Exclusive}
}

// view returns what a node's record says of its NUMA nodes.
func view(node *sched.Node) numaplan.View {
	v := numaplan.View{NUMA: make([]numaplan.NUMANode, len(node.NUMA)), CoreWidth: node.CoreWidth, KeepShared: node.Spare > 0}
	for i, on := range node.NUMA {
		v.NUMA[i] = numaplan.NUMANode{ID: on.ID, FreeCPUs: on.FreeCPUs, FreeMemory: int64(on.FreeMemory), Spare: node.Spare}
	}
	return v
}

// codeOf translates the planner's reasons into those of nodes.
func codeOf(why numaplan.Reason) sched.Code {
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
