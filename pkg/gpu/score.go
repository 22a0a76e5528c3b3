package gpu

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/topology"
)

// score has the criteria by which sets with the same number of GPUs are compared; smaller is
// better. The comment of Inventory.Choose describes these criteria.
type score struct {
	inside []int // number of links inside the set by their kind (search.kind), the weakest kind first
	nodes  int   // number of NUMA nodes
	near   int
	cut    []int // number of links to the remaining free GPUs by their kind, the strongest kind first
	gpus   []int
}

// compare returns a negative number if s is better than `other`. Both scores must be from
// the same search, because each search numbers the kinds of links in its own way.
func (s *score) compare(other *score) int {
	return cmp.Or(
		slices.Compare(s.inside, other.inside),
		cmp.Compare(s.nodes, other.nodes),
		cmp.Compare(s.near, other.near),
		slices.Compare(s.cut, other.cut),
		slices.Compare(s.gpus, other.gpus),
	)
}

// score computes the score of the chosen GPUs. It overwrites the score given as `to`, so that no
// memory is allocated. Its time grows with the number of free GPUs times the square of the number
// of chosen GPUs.
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

// covers reports whether one of the GPUs is on the given NUMA node. It is false if the
// NUMA node is Unknown.
func (s *search) covers(gpus []int, node topology.NodeID) bool {
	return node != topology.Unknown && slices.ContainsFunc(gpus, func(c int) bool { return s.gpus[c].NUMA == node })
}
