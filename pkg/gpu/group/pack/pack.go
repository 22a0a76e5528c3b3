// Package pack solves bin packing: it assigns each demand to one bin. Bins may have
// different sizes. Sizes are small integers.
//
// The result says whether it is a complete packing, whether none exists, or whether the
// search was given up.
//
//	p := pack.Pack([]int{4, 4}, []int{2, 1, 2, 3}) // p.Bin is [1 0 1 0], p.Outcome is pack.All
package pack

import "slices"

// Outcome says whether all demands have a bin, and if not, why.
type Outcome uint8

// The outcomes.
const (
	All     Outcome = iota // all demands have a bin
	Proven                 // some have none, and no complete packing exists
	Unknown                // some have none; the search was given up
)

// Packing is the assignment of demands to bins.
type Packing struct {
	Bin     []int // of each demand, or Nowhere
	Outcome Outcome
}

// Nowhere is the bin of a demand that has none.
const Nowhere = -1

// Pack returns a packing of all demands if it finds one, else that of best fit
// decreasing. Sizes of demands are positive.
//
// It is exact if the sizes of the demands divide one another, as 1, 2, 4 and 8 do. Proof:
// assign the demands in descending order, each to any bin with room. Before a demand of
// size s, all assigned sizes are multiples of s, so bin i with capacity cᵢ, of which uᵢ
// is used, has room for ⌊cᵢ/s⌋ − uᵢ/s more demands of size s, however the others were
// assigned. If no bin has room, the assigned demands fill Σ ⌊cᵢ/s⌋·s, so they and s
// cannot be packed together. (Coffman, Garey and Johnson, "Bin packing with divisible
// item sizes", Journal of Complexity 3, 1987, for bins of one size.)
//
// For other sizes it is exact if best fit decreasing packs all demands, or if the search
// after it ends within 200,000 steps. This limit is not proven to be enough, because the
// problem is NP-complete. With equal bins, best fit decreasing needs at most 11/9 of the
// optimal number and 4 more (Johnson et al., "Worst-case performance bounds for simple
// one-dimensional packing algorithms", SIAM Journal on Computing 3, 1974).
func Pack(bins, demands []int) Packing {
	order := LargestFirst(demands)
	packing, complete := bestFit(bins, demands, order)
	switch {
	case complete:
		return Packing{packing, All}
	case impossible(bins, demands), divides(demands, order):
		return Packing{packing, Proven}
	}
	s := newSearch(bins, demands)
	if s.fill() {
		return Packing{s.assign(bins, demands, order), All}
	}
	if s.steps < 0 {
		return Packing{packing, Unknown}
	}
	return Packing{packing, Proven}
}

// impossible reports whether, for some size, the demands of at least that size exceed
// the total capacity of the bins of at least that size.
func impossible(bins, demands []int) bool {
	for _, least := range slices.Compact(slices.Sorted(slices.Values(demands))) {
		need, room := 0, 0
		for _, demand := range demands {
			if demand >= least {
				need += demand
			}
		}
		for _, b := range bins {
			if b >= least {
				room += b
			}
		}
		if need > room {
			return true
		}
	}
	return false
}

// divides reports whether each size divides the next larger one.
func divides(demands, order []int) bool {
	for i := 1; i < len(order); i++ {
		if demands[order[i-1]]%demands[order[i]] != 0 {
			return false
		}
	}
	return true
}
