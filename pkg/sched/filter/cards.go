package filter

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// cards chooses the cards for a pod: of those that suit, the fullest ones, and
// of equals the first, so that whole cards stay whole. Those without an ID are not
// among them, for whoever counts their number hands them over. O(cards · count).
func cards(ask sched.GPUAsk, have []sched.GPU) ([]sched.GPUShare, sched.Reason) {
	if ask.Count <= 0 {
		return nil, sched.Reason{}
	}
	taken := make([]bool, len(have))
	shares := make([]sched.GPUShare, 0, ask.Count)
	for range ask.Count {
		best := -1
		for i, card := range have {
			if !taken[i] && suits(ask, card) && (best < 0 || card.Free < have[best].Free) {
				best = i
			}
		}
		if best < 0 {
			return nil, sched.Reason{Code: sched.NoGPU}
		}
		taken[best] = true
		if have[best].ID != "" {
			shares = append(shares, sched.GPUShare{ID: have[best].ID, Milli: ask.Milli})
		}
	}
	return shares, sched.Reason{}
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
