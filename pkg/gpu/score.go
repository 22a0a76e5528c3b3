package gpu

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/topology"
)

// score is what sets of one size are compared by; the less the better.
type score struct {
	inside []int // links inside the set, by kind from the weakest on
	nodes  int   // NUMA nodes
	near   int
	cut    []int // links to the free cards left over, by kind from the strongest on
	cards  []int
}

// compare is negative where s is better. Both come from one search.
func (s *score) compare(other *score) int {
	return cmp.Or(
		slices.Compare(s.inside, other.inside),
		cmp.Compare(s.nodes, other.nodes),
		cmp.Compare(s.near, other.near),
		slices.Compare(s.cut, other.cut),
		slices.Compare(s.cards, other.cards),
	)
}

// score writes the score of the cards taken over another one. O(free · cards).
func (s *search) score(taken *score) {
	taken.inside = append(taken.inside[:0], s.inside...)
	taken.cut = append(taken.cut[:0], s.inside...)
	clear(taken.cut)
	taken.cards = append(taken.cards[:0], s.taken...)
	slices.Sort(taken.cards)
	taken.nodes, taken.near = 0, 0
	for i, c := range taken.cards {
		if !s.known(taken.cards[:i], s.cards[c].NUMA) {
			taken.nodes++
		}
		taken.near += s.near(c)
		for _, left := range s.free {
			if !slices.Contains(s.taken, left) {
				taken.cut[len(taken.cut)-1-s.kind[c][left]]++
			}
		}
	}
}

// known reports whether one of some cards is on a NUMA node; none is on an unknown one.
func (s *search) known(cards []int, node topology.NodeID) bool {
	return node != topology.Unknown && slices.ContainsFunc(cards, func(c int) bool { return s.cards[c].NUMA == node })
}
