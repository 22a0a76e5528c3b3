package gpu

import "slices"

// Wish is a container's request for GPUs.
type Wish struct {
	Count int
	// Near returns how far the GPU with the given index is from the container's CPUs and
	// memory. Smaller is better. If Near is nil, all GPUs are equally far.
	Near func(gpu int) int
}

// exactUpTo is the largest number of candidate GPUs for which the best set is found for certain.
// Machines with more GPUs are rare.
const exactUpTo = 16

// Choose returns the indices of the best-connected free GPUs in ascending order. It
// returns false if fewer GPUs are free than the wish asks for. Sets of GPUs are
// compared by the criteria below. If two sets are equal by one criterion, the next
// criterion decides:
//
//  1. the links inside the set: as few as possible of the weakest kind, then as few as possible of
//     the second-weakest kind, and so on. A set without links of the weakest kind beats every set
//     with such links. So the weakest link inside the chosen set is as strong as possible. An
//     NVLink is stronger than a PCIe connection (Link.Compare);
//  2. the number of NUMA nodes of the GPUs: fewer are better. Each GPU whose NUMA node
//     is unknown counts as one more NUMA node;
//  3. the sum of Near over the GPUs: smaller is better;
//  4. the links between the set and the remaining free GPUs: as few as possible of the strongest
//     kind, then of the next-strongest kind, and so on. For example, of two GPUs that are equal by
//     criteria 1 to 3, Choose takes the one without an NVLink bridge to another free GPU. So two
//     GPUs with a bridge stay free together;
//  5. the indices: smaller are better.
//
// With up to 16 free GPUs, Choose finds the best set. In the worst case, it tries all sets of the
// requested size. For 8 of 16 GPUs, these are 12,870 sets. It tries far fewer sets on machines
// where many GPUs have the same links. With more than 16 free GPUs, the set may not be the best.
// Choose then builds one set from each free GPU, by adding the GPU with the best links again and
// again, and takes the best of these sets. To choose k of n free GPUs in this way, it compares
// O(n³ + n²·k²) links.
func (v *Inventory) Choose(free []int, w Wish) ([]int, bool) {
	all := slices.Compact(slices.Sorted(slices.Values(free)))
	if w.Count <= 0 || w.Count > len(all) {
		return nil, w.Count == 0
	}
	return v.best(all, all, w).gpus, true
}

// best returns the best set of w.Count GPUs from the candidates. The candidates are all free GPUs
// (for Choose), or the free GPUs on one NUMA node (for ChooseAligned). There must be at least
// w.Count candidates. Both lists are sorted.
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
