package sched

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Hold returns the resources that a pod takes from its node if it gets the given placement.
func Hold(pod *Pod, at Placement) Holding {
	return Holding{Amounts: pod.Requests, NUMA: holdNUMA(pod, at.Containers), GPUs: at.GPUs}
}

func holdNUMA(pod *Pod, containers []podspec.Container) []NUMAShare {
	var shares []NUMAShare
	for _, id := range nodesOf(containers) {
		on := func(i int) int { return containers[i].PerNode[id] }
		shares = append(shares, NUMAShare{
			ID:   id,
			CPUs: int(podspec.Peak(pod.Exclusive, func(i int) int64 { return int64(on(i)) })),
			Memory: Bytes(podspec.Peak(pod.Exclusive, func(i int) int64 {
				if on(i) == 0 || !pod.BindsMemory(i) {
					return 0
				}
				return int64(pod.Exclusive[i].MemoryBytes)
			})),
		})
	}
	return shares
}

func nodesOf(containers []podspec.Container) []topology.NodeID {
	var ids []topology.NodeID
	for _, container := range containers {
		for id, cpus := range container.PerNode {
			if cpus > 0 && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, cmp.Compare)
	return ids
}

// BindsMemory reports whether the memory of the container p.Exclusive[i] is bound to the NUMA node
// of its CPUs.
func (p *Pod) BindsMemory(i int) bool {
	return p.CPUPolicy == podspec.Single && p.Exclusive[i].MemoryBytes > 0
}

// Equal reports whether two holdings are the same.
func (h Holding) Equal(other Holding) bool {
	return h.CPU == other.CPU && h.Memory == other.Memory && h.Pods == other.Pods && h.Extended.Equal(other.Extended) &&
		slices.Equal(h.NUMA, other.NUMA) && slices.Equal(h.GPUs, other.GPUs)
}

// Plus returns the sum of two holdings on the same node.
func (h Holding) Plus(other Holding) Holding {
	sum := Holding{Amounts: h.Amounts.Plus(other.Amounts), NUMA: slices.Clone(h.NUMA), GPUs: slices.Clone(h.GPUs)}
	for _, share := range other.NUMA {
		i := slices.IndexFunc(sum.NUMA, func(s NUMAShare) bool { return s.ID == share.ID })
		if i < 0 {
			sum.NUMA = append(sum.NUMA, share)
			continue
		}
		sum.NUMA[i].CPUs += share.CPUs
		sum.NUMA[i].Memory += share.Memory
	}
	for _, gpu := range other.GPUs {
		i := slices.IndexFunc(sum.GPUs, func(s GPUShare) bool { return s.ID == gpu.ID })
		if i < 0 {
			sum.GPUs = append(sum.GPUs, gpu)
			continue
		}
		sum.GPUs[i].Milli += gpu.Milli
	}
	slices.SortFunc(sum.NUMA, func(a, b NUMAShare) int { return cmp.Compare(a.ID, b.ID) })
	return sum
}
