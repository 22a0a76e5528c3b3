package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// team is a range of a pod's GPUs that are chosen together because one container uses
// them. The field `near` has the NUMA nodes on which the container has exclusive CPUs.
type team struct {
	first, count int
	near         []topology.NodeID
}

// teams divides a pod's GPUs into teams, and returns the teams in the order in which GPUs
// are to be chosen for them. For each GPU of the pod, the argument `near` lists the NUMA
// nodes on which the GPU should be, if possible. Teams of containers with exclusive CPUs
// come first, so that other teams do not take the GPUs near these CPUs. Among the other
// teams, and among those with exclusive CPUs, larger teams come first, because their
// containers profit most from good connections between GPUs. GPUs that only init
// containers use form teams of their own.
func teams(request sched.GPURequest, near [][]topology.NodeID) []team {
	edges := make([]bool, request.Count+1)
	for i, span := range request.Spans() {
		if request.PerContainer[i].Kind != podspec.Init {
			edges[min(span.First, request.Count)], edges[min(span.First+span.Count, request.Count)] = true, true
		}
	}
	var all []team
	for slot, nodes := range near {
		if last := len(all) - 1; last >= 0 && !edges[slot] && slices.Equal(all[last].near, nodes) {
			all[last].count++
		} else {
			all = append(all, team{slot, 1, nodes})
		}
	}
	slices.SortStableFunc(all, func(a, b team) int {
		return cmp.Or(cmp.Compare(min(len(b.near), 1), min(len(a.near), 1)), cmp.Compare(b.count, a.count))
	})
	return all
}

// connected chooses for each of a pod's containers the GPUs with the best connections to
// each other. With the CPU policy "single", it considers only GPUs on the NUMA node of
// the container's CPUs, if these GPUs are enough. Among equally well connected sets of
// GPUs, it prefers a set near the container's CPUs (gpu.Inventory.Choose).
func (cs candidates) connected(pod *sched.Pod, node *sched.Node, near [][]topology.NodeID) []sched.GPU {
	v, free := cs.inventory(node)
	chosen := make([]sched.GPU, pod.GPUs.Count)
	for _, t := range teams(pod.GPUs, near) {
		gpus := t.choose(v, free, pod.CPUPolicy)
		for i, device := range gpus {
			chosen[t.first+i] = node.GPUs[device]
		}
		free = slices.DeleteFunc(free, func(device int) bool { return slices.Contains(gpus, device) })
	}
	return chosen
}

// inventory returns all GPUs of a node in the format of package gpu, which chooses well
// connected GPUs. The result `free` has the indexes of those GPUs that are candidates.
func (cs candidates) inventory(node *sched.Node) (v *gpu.Inventory, free []int) {
	v = &gpu.Inventory{GPUs: make([]gpu.GPU, len(node.GPUs)), Links: node.Links}
	for i, device := range node.GPUs {
		v.GPUs[i].NUMA = device.NUMA
		if slices.ContainsFunc(cs.gpus, func(c sched.GPU) bool { return c.ID == device.ID }) {
			free = append(free, i)
		}
	}
	return v, free
}

// choose chooses the node's GPUs for a team, and returns their indexes in the inventory.
// The argument `free` has the indexes of at least t.count GPUs, from which it chooses.
func (t team) choose(inventory *gpu.Inventory, free []int, policy podspec.Policy) []int {
	isNear := func(on topology.NodeID) bool { return slices.Contains(t.near, on) }
	if policy == podspec.Single && len(t.near) > 0 {
		if gpus, _, err := inventory.ChooseAligned(free, t.count, isNear); err == nil {
			return gpus
		}
	}
	gpus, _ := inventory.Choose(free, gpu.Wish{Count: t.count, Near: func(device int) int {
		if isNear(inventory.GPUs[device].NUMA) {
			return 0
		}
		return 1
	}})
	return gpus
}
