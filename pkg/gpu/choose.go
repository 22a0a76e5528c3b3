package gpu

import "slices"

// Wish says what cards one container wants.
type Wish struct {
	Count int
	// Near is how far a card, by position, is from the container's CPUs and
	// memory: the less the better. nil means equally far.
	Near func(card int) int
}

// exactUpTo is how many free cards Choose tries all sets of. Machines with more
// in one operating system are rare.
const exactUpTo = 16

// Choose returns the positions of the best-connected cards among those free, in
// ascending order; false where fewer are free. The best of all sets is the least
// of these, compared one after the other:
//
//  1. the links inside the set: as few as can be of the weakest kind, then of the
//     next kind, and so on, so that the link for which a ring of all waits is
//     as strong as can be. NVLinks come before PCIe (Link.Compare);
//  2. the NUMA nodes that it is spread over, an unknown one counting by itself;
//  3. Σ Near;
//  4. the links that it cuts to the free cards left over: as few as can be of the
//     strongest kind, then of the next, so that a bridged pair stays a pair;
//  5. the positions.
//
// It is exact up to 16 free cards, where it looks at C(n, k) sets at most (12,870),
// and at few on machines with any order in them; beyond, it grows a set from each
// card by the best next one, O(n²·k²).
func (v *Inventory) Choose(free []int, w Wish) ([]int, bool) {
	all := slices.Compact(slices.Sorted(slices.Values(free)))
	if w.Count <= 0 || w.Count > len(all) {
		return nil, w.Count == 0
	}
	return v.best(all, all, w).cards, true
}

// best returns the best set of candidates, which are among the free cards; both
// are sorted, and there are enough candidates.
func (v *Inventory) best(free, candidates []int, w Wish) *score {
	s := newSearch(v, free, candidates, w)
	all := w.Count == len(candidates)
	if !all {
		s.grow()
	}
	if all || len(candidates) <= exactUpTo {
		s.try(0)
	}
	return s.found
}
