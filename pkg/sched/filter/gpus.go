package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// candidates has the GPUs of a node from which the GPUs of a pod are chosen. The GPUs are sorted
// by free capacity, least first. So a pod that requests a part of a GPU gets a GPU that is
// already in use, if possible, and entirely free GPUs stay free. GPUs with equal free capacity
// keep the order that they have in the node's record.
type candidates struct {
	gpus  []sched.GPU
	group string // the GPU group to which the GPUs belong; "" if no group offered them
}

// candidatesFor returns the GPUs of a node from which the GPUs of a pod can be chosen. If there
// are fewer such GPUs than the pod requests, it returns a reason instead. If the pod requests one
// GPU and no exclusive CPUs, and no GPU group offers GPUs to it, candidatesFor returns only the
// best GPU (see leastFree), and allocates no memory.
func candidatesFor(pod *sched.Pod, node *sched.Node) (candidates, sched.Reason) {
	var cs candidates
	request := pod.GPUs
	switch {
	case request.Count <= 0:
		return cs, unlike(request, node)
	case request.Offer != nil:
		offer := request.Offer(node)
		if offer.Why.Refuses() {
			return cs, offer.Why
		}
		cs.gpus, cs.group = offered(offer.GPUs, node), offer.Group
	case request.Count == 1 && len(pod.Exclusive) == 0:
		cs.gpus = leastFree(request, node.GPUs)
	default:
		cs.gpus = slices.DeleteFunc(slices.Clone(node.GPUs), func(gpu sched.GPU) bool { return !suits(request, gpu) })
	}
	if len(cs.gpus) < request.Count {
		return candidates{}, sched.Reason{Code: sched.NoGPU}
	}
	slices.SortStableFunc(cs.gpus, func(a, b sched.GPU) int { return cmp.Compare(a.Free, b.Free) })
	return cs, sched.Reason{}
}

// leastFree returns, in a slice, the GPU with the least free capacity among those that satisfy a
// request. Of several such GPUs, it returns the first. If no GPU satisfies the request, it
// returns nil.
func leastFree(request sched.GPURequest, gpus []sched.GPU) []sched.GPU {
	best := -1
	for i, gpu := range gpus {
		if suits(request, gpu) && (best < 0 || gpu.Free < gpus[best].Free) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return gpus[best : best+1]
}

// offered returns the GPUs of a node that a GPU group offers to a pod. The argument `shares` has
// the IDs of these GPUs.
func offered(shares []sched.GPUShare, node *sched.Node) []sched.GPU {
	known := make(map[string]sched.GPU, len(node.GPUs))
	for _, gpu := range node.GPUs {
		known[gpu.ID] = gpu
	}
	gpus := make([]sched.GPU, len(shares))
	for i, s := range shares {
		gpus[i] = known[s.ID]
	}
	return gpus
}

// choose chooses a pod's GPUs, and returns them in the order in which sched.GPURequest.Split
// divides them among the pod's containers. The argument `containers` has the containers of the pod
// that have exclusive CPUs, and says on which NUMA nodes these CPUs are. If the pod requests
// several whole GPUs and the links between the node's GPUs are known, choose prefers the GPUs
// with the best connections. Otherwise, it first chooses GPUs for containers with exclusive CPUs,
// near these CPUs if possible, and then GPUs for the other containers. The result leaves out GPUs
// without an ID: only the number of free GPUs is then known, and the kubelet chooses the GPUs.
// For n candidate GPUs and a request for k GPUs, choose takes O(n · k) time, plus the time of
// gpu.Inventory.Choose.
func (cs candidates) choose(pod *sched.Pod, node *sched.Node, containers []podspec.Container) []sched.GPUShare {
	if pod.GPUs.Count <= 0 {
		return nil
	}
	request := pod.GPUs
	chosen := cs.gpus[:request.Count]
	switch {
	case request.Count > 1 && request.Milli == sched.WholeGPU && node.Links != nil:
		chosen = cs.connected(pod, node, nearby(request, containers))
	case len(containers) > 0 && len(request.PerContainer) > 0:
		chosen = cs.beside(nearby(request, containers))
	}
	shares := make([]sched.GPUShare, 0, request.Count)
	for _, gpu := range chosen {
		if gpu.ID != "" {
			shares = append(shares, sched.GPUShare{ID: gpu.ID, Milli: request.Milli})
		}
	}
	return shares
}

// The method `beside` chooses the GPUs of a pod so that each of them is near the CPUs of the
// containers that use it, if possible. The argument `near` has a list for each GPU that the pod
// requests: the NUMA nodes of these CPUs. An empty list means that any GPU is suitable. The method
// chooses GPUs for the lists that are not empty before it chooses GPUs for the empty lists. In
// another order, an empty list could get a GPU that is near the CPUs of another list.
func (cs candidates) beside(near [][]topology.NodeID) []sched.GPU {
	chosen, taken := make([]sched.GPU, len(near)), make([]bool, len(cs.gpus))
	for _, listed := range []bool{true, false} {
		for slot, nodes := range near {
			if (len(nodes) > 0) == listed {
				i := cs.nearest(nodes, taken)
				chosen[slot], taken[i] = cs.gpus[i], true
			}
		}
	}
	return chosen
}

// nearest returns the index of the first GPU that is not taken and is on one of the given NUMA
// nodes. If there is no such GPU, it returns the index of the first GPU that is not taken.
func (cs candidates) nearest(nodes []topology.NodeID, taken []bool) int {
	first := -1
	for i, gpu := range cs.gpus {
		switch {
		case taken[i]:
		case slices.Contains(nodes, gpu.NUMA):
			return i
		case first < 0:
			first = i
		}
	}
	return first
}

// nearby returns, for each of a pod's GPUs, the NUMA nodes on which the containers that use the
// GPU have exclusive CPUs. The NUMA nodes are sorted by ID.
func nearby(request sched.GPURequest, containers []podspec.Container) [][]topology.NodeID {
	near := make([][]topology.NodeID, request.Count)
	for _, span := range request.Spans() {
		at := slices.IndexFunc(containers, func(container podspec.Container) bool { return container.Name == span.Container })
		if at < 0 {
			continue
		}
		for i := span.First; i < min(span.First+span.Count, request.Count); i++ {
			for id := range containers[at].PerNode {
				if !slices.Contains(near[i], id) {
					near[i] = append(near[i], id)
				}
			}
			slices.Sort(near[i])
		}
	}
	return near
}

// lacks returns the reason why a node has too few GPUs for a request. It returns no reason if the
// node has enough GPUs.
func lacks(request sched.GPURequest, node *sched.Node) sched.Reason {
	switch {
	case request.Count <= 0:
		return unlike(request, node)
	case request.Offer != nil:
		return request.Offer(node).Why
	case able(request, node.GPUs) < request.Count:
		return sched.Reason{Code: sched.NoGPU}
	}
	return sched.Reason{}
}

// unlike returns a reason if a request is for parts of GPUs, such as MIG devices, and the pod
// may not use the node's parts: the request does not allow their type, or GPU groups
// (GPURequest.Offer) do not allow the pod to use them. It does not check whether enough parts
// are free, because the function `plain` checks that.
func unlike(request sched.GPURequest, node *sched.Node) sched.Reason {
	if request.Part.Count == 0 {
		return sched.Reason{}
	}
	is := func(model string) bool { return node.Parts[request.Part.Resource].Type == model+"-"+request.Part.Kind }
	if request.Types != nil && !slices.ContainsFunc(request.Types, is) {
		return sched.Reason{Code: sched.NoGPU}
	}
	if request.Offer != nil {
		return request.Offer(node).Why
	}
	return sched.Reason{}
}

// suits reports whether a GPU satisfies a request: it has an allowed type, and enough of it is
// free. A request for a whole GPU needs a GPU that is entirely free. So a GPU is never allocated
// both as a whole and in parts.
func suits(request sched.GPURequest, gpu sched.GPU) bool {
	return gpu.Free >= request.Milli && (request.Types == nil || slices.Contains(request.Types, gpu.Type))
}

// able returns the number of those GPUs in the slice that satisfy a request.
func able(request sched.GPURequest, have []sched.GPU) int {
	n := 0
	for _, gpu := range have {
		if suits(request, gpu) {
			n++
		}
	}
	return n
}
