package mirror

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// record returns the record (sched.Node) of a node as if all its resources were free, except for
// GPUs that are not healthy. The record has the exclusive CPUs that the node's agent publishes in the
// NodeTopology. It has no exclusive CPUs if there is no NodeTopology, or while the agent is not
// ready or does not renew its Lease.
func record(of *node, gpus string) *sched.Node {
	node, t := of.object, of.topology
	n := &sched.Node{Name: node.Name, Allocatable: amounts(node.Status.Allocatable)}
	if checkGPUs(node, t, gpus) == nil {
		n.GPUs, n.Links = named(t), links(t)
		if n.GPUs == nil {
			n.GPUs = nameless(gpu.TypeName(node.Labels[labelProduct]), n.Allocatable.Extended.Of(gpus))
		}
	}
	n.Parts = parts(node, t, single(modelsOf(n)), gpus)
	if t == nil || of.silent || !meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady) {
		return n
	}
	machine := t.Status.Machine
	n.CoreWidth = 1
	if machine.FullCores {
		n.CoreWidth = int(max(1, machine.ThreadsPerCore))
	}
	if machine.ReservedCPUs == "" {
		n.Spare = n.CoreWidth
	}
	for _, on := range t.Status.NUMA {
		if on.Capacity > 0 {
			n.NUMA = append(n.NUMA, numaNode(on, n.CoreWidth))
		}
	}
	return n
}

// numaNode converts a NUMA node of a NodeTopology to a sched.NUMANode. It rounds the number of CPUs
// down to whole cores. A core has the number of CPUs given as `width`. If the field
// allocatableMemory is absent, numaNode takes all memory of the NUMA node as allocatable. The field
// is absent if the agent is of an older release, which reserves no memory for the kernel and the
// kubelet.
func numaNode(on v1alpha1.NUMANode, width int) sched.NUMANode {
	cpus := int(on.Allocatable) / width * width
	memory := bytes(on.AllocatableMemory)
	if on.AllocatableMemory == nil {
		memory = max(bytes(on.Memory), bytes(on.AvailableMemory))
	}
	return sched.NUMANode{ID: topology.NodeID(on.ID), CPUs: cpus, FreeCPUs: cpus, Memory: memory, FreeMemory: memory}
}

func bytes(q *resource.Quantity) sched.Bytes {
	if q == nil {
		return 0
	}
	return sched.Bytes(v1alpha1.Amount(*q))
}
