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

// score returns the score of the cards taken. O(free · cards).
func (s *search) score() *score {
	taken := &score{inside: slices.Clone(s.inside), cut: make([]int, len(s.inside)), cards: slices.Sorted(slices.Values(s.taken))}
	known := make([]topology.NodeID, 0, len(s.taken))
	for _, c := range taken.cards {
		if node := s.cards[c].NUMA; node == topology.Unknown || !slices.Contains(known, node) {
			known = append(known, node)
		}
		taken.near += s.near(c)
		for _, left := range s.free {
			if !slices.Contains(s.taken, left) {
				taken.cut[len(taken.cut)-1-s.kind[c][left]]++
			}
		}
	}
	taken.nodes = len(known)
	return taken
}
