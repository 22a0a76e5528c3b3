package gpu

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/topology"
)

// score is the tuple by which sets of one size are compared; smaller is better. See
// Inventory.Choose.
type score struct {
	inside []int // links inside the set, by kind from the weakest on
	nodes  int   // NUMA nodes
	near   int
	cut    []int // links to the free cards left over, by kind from the strongest on
	cards  []int
}

// compare is negative if s is better. Both must be from the same search.
func (s *score) compare(other *score) int {
	return cmp.Or(
		slices.Compare(s.inside, other.inside),
		cmp.Compare(s.nodes, other.nodes),
		cmp.Compare(s.near, other.near),
		slices.Compare(s.cut, other.cut),
		slices.Compare(s.cards, other.cards),
	)
}

// score writes the score of the chosen cards to a reused one. O(free · cards).
func (s *search) score(to *score) {
	to.inside = append(to.inside[:0], s.inside...)
	to.cut = append(to.cut[:0], s.inside...)
	clear(to.cut)
	to.cards = append(to.cards[:0], s.chosen...)
	slices.Sort(to.cards)
	to.nodes, to.near = 0, 0
	for i, c := range to.cards {
		if !s.covers(to.cards[:i], s.cards[c].NUMA) {
			to.nodes++
		}
		to.near += s.near(c)
		for _, left := range s.free {
			if !slices.Contains(s.chosen, left) {
				to.cut[len(to.cut)-1-s.kind[c][left]]++
			}
		}
	}
}

// covers reports whether one of the cards is on a NUMA node, which must be known.
func (s *search) covers(cards []int, node topology.NodeID) bool {
	return node != topology.Unknown && slices.ContainsFunc(cards, func(c int) bool { return s.cards[c].NUMA == node })
}
