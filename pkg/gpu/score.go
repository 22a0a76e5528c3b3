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
	cut    []int // links to the free GPUs left over, by kind from the strongest on
	gpus   []int
}

// compare is negative if s is better. Both must be from the same search.
func (s *score) compare(other *score) int {
	return cmp.Or(
		slices.Compare(s.inside, other.inside),
		cmp.Compare(s.nodes, other.nodes),
		cmp.Compare(s.near, other.near),
		slices.Compare(s.cut, other.cut),
		slices.Compare(s.gpus, other.gpus),
	)
}

// score writes the score of the chosen GPUs to a reused one. O(free · GPUs).
func (s *search) score(to *score) {
	to.inside = append(to.inside[:0], s.inside...)
	to.cut = append(to.cut[:0], s.inside...)
	clear(to.cut)
	to.gpus = append(to.gpus[:0], s.chosen...)
	slices.Sort(to.gpus)
	to.nodes, to.near = 0, 0
	for i, gpu := range to.gpus {
		if !s.covers(to.gpus[:i], s.gpus[gpu].NUMA) {
			to.nodes++
		}
		to.near += s.near(gpu)
		for _, left := range s.free {
			if !slices.Contains(s.chosen, left) {
				to.cut[len(to.cut)-1-s.kind[gpu][left]]++
			}
		}
	}
}

// covers reports whether one of the GPUs is on a NUMA node, which must be known.
func (s *search) covers(gpus []int, node topology.NodeID) bool {
	return node != topology.Unknown && slices.ContainsFunc(gpus, func(c int) bool { return s.gpus[c].NUMA == node })
}
