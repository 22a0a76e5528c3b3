package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// hand is the cards of a node that a pod may choose from: the fullest ones first, so
// that whole cards stay whole, and equals as the node has them.
type hand struct {
	cards []sched.GPU
	group string // that they are of, or ""
}

// deal returns what a pod may choose from: at least as many cards as it asks for.
func deal(ask sched.GPUAsk, node *sched.Node) (hand, sched.Reason) {
	var h hand
	switch {
	case ask.Count <= 0:
		return h, unlike(ask, node)
	case ask.Offer != nil:
		offer := ask.Offer(node)
		if offer.Why.Refuses() {
			return h, offer.Why
		}
		h.cards, h.group = offered(offer.GPUs, node), offer.Group
	default:
		h.cards = slices.DeleteFunc(slices.Clone(node.GPUs), func(card sched.GPU) bool { return !suits(ask, card) })
	}
	if len(h.cards) < ask.Count {
		return hand{}, sched.Reason{Code: sched.NoGPU}
	}
	slices.SortStableFunc(h.cards, func(a, b sched.GPU) int { return cmp.Compare(a.Free, b.Free) })
	return h, sched.Reason{}
}

// offered returns the cards that are offered, as the node has them.
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

// choose takes the cards for a pod whose CPUs are so: of several whole ones those that
// are best connected, else for containers with exclusive CPUs those near them, and then
// the others. They are in the order of sched.GPUAsk.Split. Those without an ID are not
// among them, for whoever counts their number hands them over. O(cards · count), but for
// what gpu.Inventory.Choose costs.
func (h hand) choose(pod *sched.Pod, node *sched.Node, containers []sched.ContainerCPUs) []sched.GPUShare {
	if pod.GPUs.Count <= 0 {
		return nil
	}
	ask := pod.GPUs
	chosen := h.cards[:ask.Count]
	switch {
	case ask.Count > 1 && ask.Milli == sched.WholeGPU && node.Links != nil:
		chosen = h.connected(pod, node, nearby(ask, containers))
	case len(containers) > 0 && len(ask.Wants) > 0:
		chosen = h.beside(nearby(ask, containers))
	}
	shares := make([]sched.GPUShare, 0, ask.Count)
	for _, card := range chosen {
		if card.ID != "" {
			shares = append(shares, sched.GPUShare{ID: card.ID, Milli: ask.Milli})
		}
	}
	return shares
}

// beside chooses a card for each of some lists of NUMA nodes: first for those that
// have any, so that the others take nothing that is near to them.
func (h hand) beside(near [][]topology.NodeID) []sched.GPU {
	chosen, taken := make([]sched.GPU, len(near)), make([]bool, len(h.cards))
	for _, listed := range []bool{true, false} {
		for slot, nodes := range near {
			if (len(nodes) > 0) == listed {
				i := h.nearest(nodes, taken)
				chosen[slot], taken[i] = h.cards[i], true
			}
		}
	}
	return chosen
}

// nearest returns the first card left on one of the NUMA nodes, else the first left.
func (h hand) nearest(nodes []topology.NodeID, taken []bool) int {
	first := -1
	for i, card := range h.cards {
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

// nearby returns for each of a pod's cards on which NUMA nodes, by id, the exclusive
// CPUs of the containers are that get it.
func nearby(ask sched.GPUAsk, containers []sched.ContainerCPUs) [][]topology.NodeID {
	near := make([][]topology.NodeID, ask.Count)
	for _, span := range ask.Spans() {
		at := slices.IndexFunc(containers, func(c sched.ContainerCPUs) bool { return c.Container == span.Container })
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

// lacks says why a node has too few cards for an ask, or nothing.
func lacks(ask sched.GPUAsk, node *sched.Node) sched.Reason {
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

// unlike says why a node's parts of cards do not suit, or nothing.
func unlike(ask sched.GPUAsk, node *sched.Node) sched.Reason {
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

// suits reports whether a card can serve an ask. A part and all of one card are
// never handed out together, for a whole card needs all of it free.
func suits(ask sched.GPUAsk, card sched.GPU) bool {
	return card.Free >= ask.Milli && (ask.Types == nil || slices.Contains(ask.Types, card.Type))
}

// able counts the cards that suit.
func able(ask sched.GPUAsk, have []sched.GPU) int {
	n := 0
	for _, card := range have {
		if suits(ask, card) {
			n++
		}
	}
	return n
}
