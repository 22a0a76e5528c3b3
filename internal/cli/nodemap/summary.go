package nodemap

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// Summary says how many CPUs and GPUs of a node are free.
type Summary struct {
	Name  string `json:"name"`
	Ready string `json:"ready"` // True, False or Unknown: whether the node serves pods with exclusive CPUs
	NUMA  []NUMA `json:"numa"`  // only NUMA nodes that have CPUs
}

// NUMA says how many logical CPUs and physical GPUs of a NUMA node are free. A GPU in MIG mode counts
// as one GPU if it has slices. If it has none, the NodeTopology does not say on which NUMA node it is,
// so it counts only on a machine with a single NUMA node.
type NUMA struct {
	ID          int32 `json:"id"`
	Capacity    int32 `json:"capacity"`
	Allocatable int32 `json:"allocatable"` // CPUs that can be exclusive, whether a pod holds them or not; see v1alpha1.CPUCounts
	Available   int32 `json:"available"`   // CPUs that can still become exclusive
	GPUs        int32 `json:"gpus"`
	FreeGPUs    int32 `json:"freeGPUs"` // healthy GPUs that no pod holds, as a whole, as a share or as a MIG slice
}

// Summarize returns the summary of the node that a NodeTopology describes.
func Summarize(topology *v1alpha1.NodeTopology) Summary {
	s := Summary{Name: topology.Name, Ready: "Unknown", NUMA: []NUMA{}}
	if condition := meta.FindStatusCondition(topology.Status.Conditions, v1alpha1.ConditionReady); condition != nil {
		s.Ready = string(condition.Status)
	}
	gpus, held := GPUs(&topology.Status), HeldGPUs(&topology.Status)
	for _, numaNode := range topology.Status.NUMA {
		if numaNode.Capacity == 0 {
			continue
		}
		numa := NUMA{ID: numaNode.ID, Capacity: numaNode.Capacity, Allocatable: numaNode.Allocatable, Available: numaNode.Available}
		numa.countGPUs(gpus, held, len(topology.Status.NUMA) == 1)
		s.NUMA = append(s.NUMA, numa)
	}
	return s
}

// countGPUs counts the physical GPUs of the NUMA node, and how many of them are free (see CountGPUs).
// GPUs whose NUMA node is unknown count if the machine has only this NUMA node (the parameter `only`).
func (n *NUMA) countGPUs(gpus []gpu.GPU, held []string, only bool) {
	for _, c := range gpus {
		if c.NUMA != topology.NodeID(n.ID) && !(only && c.NUMA == topology.Unknown) {
			continue
		}
		n.GPUs++
		if isHealthy(c) && !slices.Contains(held, c.UUID) {
			n.FreeGPUs++
		}
	}
}

// HeldGPUs returns the UUIDs of the physical GPUs that pods hold, entirely or as a share or MIG
// slice. If several pods hold parts of one GPU, the result has the GPU once for each of these
// pods.
func HeldGPUs(status *v1alpha1.NodeTopologyStatus) (held []string) {
	for _, pod := range status.GPUHolders {
		held = append(held, physical(pod.Devices, status.GPUs)...)
	}
	return held
}
