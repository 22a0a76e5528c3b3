package filter

import (
	"cmp"
	"iter"
	"slices"
)

// together yields the ways to put all of a container on one NUMA node: first
// where the pod holds least more for it, then the best fit, then the first.
func (s *seating) together(c int) iter.Seq[counts] {
	return func(yield func(counts) bool) {
		k := s.pod.Exclusive[c].CPUs
		able := slices.DeleteFunc(s.rooms(c), func(r room) bool { return r.have() < k })
		slices.SortStableFunc(able, func(a, b room) int {
			return cmp.Or(cmp.Compare(a.fresh(k), b.fresh(k)), cmp.Compare(a.free-a.fresh(k), b.free-b.fresh(k)))
		})
		for _, r := range able {
			n := make(counts, len(s.node.NUMA))
			n[r.node] = k
			if !yield(n) {
				return
			}
		}
	}
}
