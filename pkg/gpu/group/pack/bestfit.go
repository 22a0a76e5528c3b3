package pack

import (
	"cmp"
	"slices"
)

// LargestFirst returns the demands' places by falling size; of equals the first
// comes first.
func LargestFirst(demands []int) []int {
	order := make([]int, len(demands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(demands[b], demands[a]) })
	return order
}

// bestFit puts each demand, in that order, into the bin that it leaves least room
// in; of equals into the first. O(bins · demands).
func bestFit(bins, demands, order []int) (bin []int, complete bool) {
	room := slices.Clone(bins)
	bin = make([]int, len(demands))
	complete = true
	for _, d := range order {
		best := Nowhere
		for b := range room {
			if room[b] >= demands[d] && (best == Nowhere || room[b] < room[best]) {
				best = b
			}
		}
		bin[d] = best
		if best == Nowhere {
			complete = false
			continue
		}
		room[best] -= demands[d]
	}
	return bin, complete
}
