package filter

import (
	"slices"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// joins reports whether a pod has the CPU policy "single" and requests exclusive CPUs and GPUs.
// Only this CPU policy requires that a container's CPUs and GPUs are on the same NUMA node. With
// the other CPU policies, GPUs near the CPUs are preferred, but not required.
func joins(pod *sched.Pod) bool {
	return pod.CPUPolicy == podspec.Single && len(pod.Exclusive) > 0 && len(pod.GPUs.PerContainer) > 0
}

// allow returns a function that package numaplan calls while it plans the CPUs of a pod's
// containers, so that enough GPUs are on the same NUMA nodes. The argument of this function has,
// for each container whose CPUs are planned, the number of CPUs on each NUMA node. The function
// reports whether each NUMA node has enough candidate GPUs for the containers whose CPUs are
// planned on it. A GPU whose NUMA node is unknown does not count for any NUMA node, unless the
// machine has only one NUMA node. allow returns nil if GPUs and CPUs need not be on the same
// NUMA node. It also returns nil if the node's GPUs have no IDs, because the kubelet then
// chooses the GPUs.
func (cs candidates) allow(pod *sched.Pod, node *sched.Node) func([]numaplan.Counts) bool {
	if len(cs.gpus) == 0 || cs.gpus[0].ID == "" || !joins(pod) {
		return nil
	}
	return func(placed []numaplan.Counts) bool {
		homes, agree := gpuNUMANodes(pod, node, placed)
		if !agree {
			return false
		}
		return !slices.ContainsFunc(node.NUMA, func(on sched.NUMANode) bool {
			need := 0
			for _, home := range homes {
				if home == on.ID {
					need++
				}
			}
			return need > cs.on(on.ID, node)
		})
	}
}

// gpuNUMANodes returns, for each of the pod's GPUs, the NUMA node on which the GPU must be, or
// topology.Unknown if the GPU may be on any NUMA node. It returns false if two containers that
// use the same GPU one after the other, such as an init container and an app container, are on
// different NUMA nodes.
func gpuNUMANodes(pod *sched.Pod, node *sched.Node, placed []numaplan.Counts) (homes []topology.NodeID, agree bool) {
	homes = slices.Repeat([]topology.NodeID{topology.Unknown}, pod.GPUs.Count)
	for _, span := range pod.GPUs.Spans() {
		home := homeOf(span.Container, pod, node, placed)
		if home == topology.Unknown {
			continue
		}
		for i := span.First; i < min(span.First+span.Count, len(homes)); i++ {
			if homes[i] != topology.Unknown && homes[i] != home {
				return nil, false
			}
			homes[i] = home
		}
	}
	return homes, true
}

// homeOf returns the NUMA node on which all CPUs of a container are planned because of the CPU
// policy "single". It returns topology.Unknown if the CPUs of the container are not planned yet,
// or if the policy does not apply to the container.
func homeOf(container string, pod *sched.Pod, node *sched.Node, placed []numaplan.Counts) topology.NodeID {
	for c, want := range pod.Exclusive {
		if want.Name == container && want.PerNode == nil && placed[c] != nil {
			return node.NUMA[slices.Index(placed[c], want.CPUs)].ID
		}
	}
	return topology.Unknown
}

// The method `on` returns the number of candidate GPUs that are on the given NUMA node. If the
// machine has only one NUMA node, it also counts GPUs whose NUMA node is unknown.
func (cs candidates) on(id topology.NodeID, node *sched.Node) int {
	n := 0
	for _, gpu := range cs.gpus {
		if gpu.NUMA == id || gpu.NUMA == topology.Unknown && len(node.NUMA) == 1 {
			n++
		}
	}
	return n
}
