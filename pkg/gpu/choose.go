package gpu

import "slices"

// Wish is a container's request for GPUs.
type Wish struct {
	Count int
	// Near returns the distance of a GPU, by its index, from the container's CPUs
	// and memory: smaller is better. nil means that all are equally far.
	Near func(gpu int) int
}

// exactUpTo is the number of free GPUs up to which Choose tries all sets. Machines
// with more are rare.
const exactUpTo = 16

// Choose returns the indices of the best-connected free GPUs in ascending order,
// and false if fewer are free. The best set has the lexicographically smallest
// tuple of:
//
//  1. the links inside the set: as few as possible of the weakest kind, then of the
//     next kind, and so on, so that the slowest link of a ring over all GPUs is as
//     fast as possible. NVLinks come before PCIe (Link.Compare);
//  2. the number of NUMA nodes, where each GPU on an unknown node counts as one;
//  3. Σ Near;
//  4. the links between the set and the remaining free GPUs: as few as possible of
//     the strongest kind, then of the next, so that a bridged pair stays a pair;
//  5. the indices.
//
// It is exact up to 16 free GPUs, where it tries at most C(n, k) sets (12,870), and
// few on machines with symmetries. Beyond that it grows a set greedily from each
// GPU, O(n²·k²).
func (v *Inventory) Choose(free []int, w Wish) ([]int, bool) {
	all := slices.Compact(slices.Sorted(slices.Values(free)))
	if w.Count <= 0 || w.Count > len(all) {
		return nil, w.Count == 0
	}
	return v.best(all, all, w).gpus, true
}

// best returns the best set of candidates. They are a subset of the free GPUs;
// both are sorted, and there are enough candidates.
func (v *Inventory) best(free, candidates []int, w Wish) *score {
	s := newSearch(v, free, candidates, w)
	all := w.Count == len(candidates)
	if !all {
		s.grow()
	}
	if all || len(candidates) <= exactUpTo {
		s.searchFrom(0)
	}
	return s.found
}
