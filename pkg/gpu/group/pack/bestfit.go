package pack

import (
	"cmp"
	"slices"
)

// LargestFirst returns the indices of the demands by descending size. Demands of equal
// size keep their order.
func LargestFirst(demands []int) []int {
	order := make([]int, len(demands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(demands[b], demands[a]) })
	return order
}

// bestFit assigns the demands in the given order, each to the bin in which it leaves the
// least room. Of bins with equal room, bestFit takes the first. The time grows with the
// number of bins times the number of demands.
func bestFit(bins, demands, order []int) (bin []int, complete bool) {
	room := slices.Clone(bins)
	bin = make([]int, len(demands))
	complete = true
	for _, demand := range order {
		best := Nowhere
		for b := range room {
			if room[b] >= demands[demand] && (best == Nowhere || room[b] < room[best]) {
				best = b
			}
		}
		bin[demand] = best
		if best == Nowhere {
			complete = false
			continue
		}
		room[best] -= demands[demand]
	}
	return bin, complete
}
