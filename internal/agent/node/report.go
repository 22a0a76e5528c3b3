package node

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Report returns the status of the NodeTopology: the machine, the available CPUs and memory, and
// the CPUs of each exclusive container. The result has no conditions, and no GPUs, which ReportGPUs
// adds.
func (n *Node) Report() v1alpha1.NodeTopologyStatus {
	v := n.View()
	r := v1alpha1.NodeTopologyStatus{Machine: n.shape(), Caches: cachesOf(n.machine), Pods: podsOf(v.Held)}
	for _, node := range n.machine.Nodes {
		numa := describe(node)
		numa.CPUCounts = n.counts(v, node.ID)
		if left, ok := v.AvailableMemory[node.ID]; ok {
			numa.AllocatableMemory, numa.AvailableMemory = bytes(v.AllocatableMemory[node.ID]), bytes(left)
		}
		r.CPUs.Capacity += numa.Capacity
		r.CPUs.Allocatable += numa.Allocatable
		r.CPUs.Available += numa.Available
		r.NUMA = append(r.NUMA, numa)
	}
	return r
}

// counts returns how many CPUs one NUMA node has, and how many of them are allocatable and
// available. If exclusive CPUs are disabled on this node, no CPU is allocatable or available.
func (n *Node) counts(v View, id topology.NodeID) v1alpha1.CPUCounts {
	c := v1alpha1.CPUCounts{Capacity: int32(v.Capacity[id])}
	if !n.cfg.Disabled {
		c.Allocatable, c.Available = int32(v.Allocatable[id]), int32(v.Available[id])
	}
	return c
}

// shape returns how many packages, NUMA nodes and cores the machine has, and which CPUs are
// reserved. It leaves out packages and cores whose CPUs are all offline.
func (n *Node) shape() v1alpha1.Machine {
	packages, threads := map[int]bool{}, map[cpuset.CPU]int32{}
	for _, c := range n.machine.CPUs {
		if c.Online {
			packages[c.Package] = true
			threads[c.Core]++
		}
	}
	return v1alpha1.Machine{
		Packages: int32(len(packages)), NUMANodes: int32(len(n.machine.Nodes)), Cores: int32(len(threads)),
		ThreadsPerCore: slices.Max(slices.Collect(maps.Values(threads))),
		ReservedCPUs:   n.cfg.Reserved.String(), FullCores: n.cfg.FullCores,
	}
}

// describe returns the properties of a NUMA node that do not change when pods start and end.
func describe(node topology.Node) v1alpha1.NUMANode {
	out := v1alpha1.NUMANode{ID: int32(node.ID), CPUs: node.CPUs.String()}
	if node.MemoryBytes > 0 {
		out.Memory = bytes(node.MemoryBytes)
	}
	for _, to := range slices.Sorted(maps.Keys(node.Distances)) {
		out.Distances = append(out.Distances, v1alpha1.Distance{ID: int32(to), Value: int32(node.Distances[to])})
	}
	return out
}

// cachesOf returns the last-level caches of a machine, with the cores that share each cache.
func cachesOf(m *topology.Machine) (caches []v1alpha1.Cache) {
	for _, c := range m.Caches() {
		out := v1alpha1.Cache{ID: known(c.ID), Package: known(c.Package), NUMA: known(c.NUMA)}
		for _, core := range c.Cores {
			out.Cores = append(out.Cores, core.String())
		}
		caches = append(caches, out)
	}
	return caches
}

// known returns `id` as a pointer for the status of the NodeTopology. It returns nil if `id` is
// topology.Unknown, which means that the kernel does not report the ID.
func known[ID ~int](id ID) *int32 {
	if id == topology.Unknown {
		return nil
	}
	return new(int32(id))
}

func bytes(n uint64) *resource.Quantity { return resource.NewQuantity(int64(n), resource.BinarySI) }

// podsOf groups the exclusive CPUs of containers by pod. The list `held` must be ordered
// by pod.
func podsOf(held []Holding) []v1alpha1.PodCPUs {
	var pods []v1alpha1.PodCPUs
	for _, h := range held {
		if last := len(pods) - 1; last < 0 || pods[last].UID != h.Pod.UID {
			pods = append(pods, v1alpha1.PodCPUs{UID: h.Pod.UID, Namespace: h.Pod.Namespace, Name: h.Pod.Name})
		}
		last := &pods[len(pods)-1]
		last.Containers = append(last.Containers, v1alpha1.ContainerCPUs{Name: h.Container, CPUs: h.CPUs.String()})
	}
	return pods
}
