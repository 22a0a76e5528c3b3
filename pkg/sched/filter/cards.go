package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// candidates are the cards of a node that a pod may choose from. They are sorted by free capacity,
// least first, so that whole cards stay whole. Cards with equal free capacity keep the node's
// order.
type candidates struct {
	cards []sched.GPU
	group string // the GPU group of the cards, or ""
}

// candidatesFor returns the candidates for a pod. There are at least as many cards as
// requested, or the reason why there are not. A pod without exclusive CPUs that requests
// one card gets only the best candidate, which costs no memory.
func candidatesFor(pod *sched.Pod, node *sched.Node) (candidates, sched.Reason) {
	var cs candidates
	ask := pod.GPUs
	switch {
	case ask.Count <= 0:
		return cs, unlike(ask, node)
	case ask.Offer != nil:
		offer := ask.Offer(node)
		if offer.Why.Refuses() {
			return cs, offer.Why
		}
		cs.cards, cs.group = offered(offer.GPUs, node), offer.Group
	case ask.Count == 1 && len(pod.Exclusive) == 0:
		cs.cards = leastFree(ask, node.GPUs)
	default:
		cs.cards = slices.DeleteFunc(slices.Clone(node.GPUs), func(card sched.GPU) bool { return !suits(ask, card) })
	}
	if len(cs.cards) < ask.Count {
		return candidates{}, sched.Reason{Code: sched.NoGPU}
	}
	slices.SortStableFunc(cs.cards, func(a, b sched.GPU) int { return cmp.Compare(a.Free, b.Free) })
	return cs, sched.Reason{}
}

// leastFree returns the first of the suitable cards with the least free capacity, or none.
func leastFree(ask sched.GPURequest, cards []sched.GPU) []sched.GPU {
	best := -1
	for i, card := range cards {
		if suits(ask, card) && (best < 0 || card.Free < cards[best].Free) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return cards[best : best+1]
}

// offered returns the node's records of the offered cards.
func offered(shares []sched.GPUShare, node *sched.Node) []sched.GPU {
	known := make(map[string]sched.GPU, len(node.GPUs))
	for _, card := range node.GPUs {
		known[card.ID] = card
	}
	cards := make([]sched.GPU, len(shares))
	for i, s := range shares {
		cards[i] = known[s.ID]
	}
	return cards
}

// choose returns a pod's cards, in the order of sched.GPURequest.Split; containers are the
// pod's exclusive CPUs. Several whole cards are chosen for the best connections.
// Otherwise containers with exclusive CPUs get cards near them first. Cards without an
// ID are left out: only their number is known, and the kubelet chooses them. It takes
// O(cards · count) time, plus that of gpu.Inventory.Choose.
func (cs candidates) choose(pod *sched.Pod, node *sched.Node, containers []podspec.Container) []sched.GPUShare {
	if pod.GPUs.Count <= 0 {
		return nil
	}
	ask := pod.GPUs
	chosen := cs.cards[:ask.Count]
	switch {
	case ask.Count > 1 && ask.Milli == sched.WholeGPU && node.Links != nil:
		chosen = cs.connected(pod, node, nearby(ask, containers))
	case len(containers) > 0 && len(ask.PerContainer) > 0:
		chosen = cs.beside(nearby(ask, containers))
	}
	shares := make([]sched.GPUShare, 0, ask.Count)
	for _, card := range chosen {
		if card.ID != "" {
			shares = append(shares, sched.GPUShare{ID: card.ID, Milli: ask.Milli})
		}
	}
	return shares
}

// beside chooses a card for each list of NUMA nodes in near. Lists that are not empty
// come first, so that the others do not take the cards near them.
func (cs candidates) beside(near [][]topology.NodeID) []sched.GPU {
	chosen, taken := make([]sched.GPU, len(near)), make([]bool, len(cs.cards))
	for _, listed := range []bool{true, false} {
		for slot, nodes := range near {
			if (len(nodes) > 0) == listed {
				i := cs.nearest(nodes, taken)
				chosen[slot], taken[i] = cs.cards[i], true
			}
		}
	}
	return chosen
}

// nearest returns the index of the first free card on one of the NUMA nodes, otherwise of
// the first free card.
func (cs candidates) nearest(nodes []topology.NodeID, taken []bool) int {
	first := -1
	for i, card := range cs.cards {
		switch {
		case taken[i]:
		case slices.Contains(nodes, card.NUMA):
			return i
		case first < 0:
			first = i
		}
	}
	return first
}

// nearby returns for each of a pod's cards the NUMA nodes, sorted by ID, with exclusive
// CPUs of the containers that use the card.
func nearby(ask sched.GPURequest, containers []podspec.Container) [][]topology.NodeID {
	near := make([][]topology.NodeID, ask.Count)
	for _, span := range ask.Spans() {
		at := slices.IndexFunc(containers, func(c podspec.Container) bool { return c.Name == span.Container })
		if at < 0 {
			continue
		}
		for i := span.First; i < min(span.First+span.Count, ask.Count); i++ {
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

// lacks returns why a node has too few cards for a request.
func lacks(ask sched.GPURequest, node *sched.Node) sched.Reason {
	switch {
	case ask.Count <= 0:
		return unlike(ask, node)
	case ask.Offer != nil:
		return ask.Offer(node).Why
	case able(ask, node.GPUs) < ask.Count:
		return sched.Reason{Code: sched.NoGPU}
	}
	return sched.Reason{}
}

// unlike returns why a node's parts of cards do not satisfy a request.
func unlike(ask sched.GPURequest, node *sched.Node) sched.Reason {
	if ask.Part.Count == 0 {
		return sched.Reason{}
	}
	is := func(model string) bool { return node.Parts[ask.Part.Resource].Type == model+"-"+ask.Part.Kind }
	if ask.Types != nil && !slices.ContainsFunc(ask.Types, is) {
		return sched.Reason{Code: sched.NoGPU}
	}
	if ask.Offer != nil {
		return ask.Offer(node).Why
	}
	return sched.Reason{}
}

// suits reports whether a card satisfies a request. A request for a whole card needs a card that is
// entirely free, so a card is never allocated both as a whole and in parts.
func suits(ask sched.GPURequest, card sched.GPU) bool {
	return card.Free >= ask.Milli && (ask.Types == nil || slices.Contains(ask.Types, card.Type))
}

// able counts the cards that satisfy a request.
func able(ask sched.GPURequest, have []sched.GPU) int {
	n := 0
	for _, card := range have {
		if suits(ask, card) {
			n++
		}
	}
	return n
}
