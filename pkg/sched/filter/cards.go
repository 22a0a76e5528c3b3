package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// cards chooses the cards for a pod, and says of which group they are: of those that
// suit, the fullest ones, and of equals the first, so that whole cards stay whole.
// Those without an ID are not among them, for whoever counts their number hands them
// over. O(cards · count).
func cards(ask sched.GPUAsk, node *sched.Node) ([]sched.GPUShare, string, sched.Reason) {
	if ask.Count <= 0 {
		return nil, "", sched.Reason{}
	}
	if ask.Offer != nil {
		return chosen(ask, node)
	}
	taken := make([]bool, len(node.GPUs))
	shares := make([]sched.GPUShare, 0, ask.Count)
	for range ask.Count {
		best := -1
		for i, card := range node.GPUs {
			if !taken[i] && suits(ask, card) && (best < 0 || card.Free < node.GPUs[best].Free) {
				best = i
			}
		}
		if best < 0 {
			return nil, "", sched.Reason{Code: sched.NoGPU}
		}
		taken[best] = true
		if node.GPUs[best].ID != "" {
			shares = append(shares, sched.GPUShare{ID: node.GPUs[best].ID, Milli: ask.Milli})
		}
	}
	return shares, "", sched.Reason{}
}

// chosen chooses among the cards that a pod is offered, as cards does.
func chosen(ask sched.GPUAsk, node *sched.Node) ([]sched.GPUShare, string, sched.Reason) {
	offer := ask.Offer(node)
	if offer.Why.Refuses() {
		return nil, "", offer.Why
	}
	free := make(map[string]sched.MilliGPU, len(node.GPUs))
	for _, card := range node.GPUs {
		free[card.ID] = card.Free
	}
	shares := slices.Clone(offer.GPUs)
	slices.SortStableFunc(shares, func(a, b sched.GPUShare) int { return cmp.Compare(free[a.ID], free[b.ID]) })
	shares = slices.DeleteFunc(shares[:ask.Count], func(s sched.GPUShare) bool { return s.ID == "" })
	return shares, offer.Group, sched.Reason{}
}

// lacks says why a node has too few cards for an ask, or nothing.
func lacks(ask sched.GPUAsk, node *sched.Node) sched.Reason {
	switch {
	case ask.Count <= 0:
		return sched.Reason{}
	case ask.Offer != nil:
		return ask.Offer(node).Why
	case able(ask, node.GPUs) < ask.Count:
		return sched.Reason{Code: sched.NoGPU}
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
