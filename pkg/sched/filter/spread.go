package filter

import (
	"cmp"
	"iter"
	"slices"
)

// evenly yields the ways to give every NUMA node its even share. What does not
// divide goes, one each, to the nodes where the pod holds a CPU for it already,
// then where most is free, then the first.
func (s *seating) evenly(c int) iter.Seq[counts] {
	return func(yield func(counts) bool) {
		rooms := s.rooms(c)
		share, odd := s.pod.Exclusive[c].CPUs/len(rooms), s.pod.Exclusive[c].CPUs%len(rooms)
		if slices.ContainsFunc(rooms, func(r room) bool { return r.have() < share }) {
			return
		}
		able := slices.DeleteFunc(rooms, func(r room) bool { return r.have() == share })
		slices.SortStableFunc(able, func(a, b room) int {
			return cmp.Or(cmp.Compare(a.fresh(share+1)-a.fresh(share), b.fresh(share+1)-b.fresh(share)), cmp.Compare(b.free, a.free))
		})
		for chosen := range combinations(len(able), odd) {
			n := make(counts, len(s.node.NUMA))
			for i := range n {
				n[i] = share
			}
			for _, i := range chosen {
				n[able[i].node]++
			}
			if !yield(n) {
				return
			}
		}
	}
}

// combinations yields the ways to choose k of n, in lexicographic order. The
// slice is the same each time.
func combinations(n, k int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		if k > n {
			return
		}
		at := make([]int, k)
		for i := range at {
			at[i] = i
		}
		for yield(at) {
			i := k - 1
			for i >= 0 && at[i] == n-k+i {
				i--
			}
			if i < 0 {
				return
			}
			at[i]++
			for j := i + 1; j < k; j++ {
				at[j] = at[j-1] + 1
			}
		}
	}
}
