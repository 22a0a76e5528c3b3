// Package pack solves the bin packing problem: it assigns each demand to one bin with
// enough room. Bins may have different sizes. Sizes are small integers, such as numbers
// of GPUs.
//
// The result says whether all demands have a bin. If some have none, it says whether it is proven
// that no packing of all demands exists, or whether the search was given up.
//
//	p := pack.Pack([]int{4, 4}, []int{2, 1, 2, 3}) // p.Bin is [1 0 1 0], p.Outcome is pack.All
package pack

import "slices"

// Outcome says whether all demands have a bin, and if not, why not.
type Outcome uint8

// The outcomes.
const (
	All     Outcome = iota // all demands have a bin
	Proven                 // some demands have no bin, and it is proven that no packing of all demands exists
	Unknown                // some demands have no bin, because the search was given up
)

// Packing is the assignment of demands to bins.
type Packing struct {
	Bin     []int // the bin of each demand, or Nowhere
	Outcome Outcome
}

// Nowhere stands in Packing.Bin for a demand that has no bin.
const Nowhere = -1

// Pack assigns all demands to bins if it finds a way. Otherwise it returns the result of
// the algorithm "best fit decreasing", in which some demands have no bin. All demands
// must be positive.
//
// Suppose that the different sizes of the demands are in ascending order and each divides the next
// one, as 1, 2, 4 and 8 do. Then Pack always finds a packing of all demands if there is one. Proof:
// assign the demands in descending order, each to any bin with room. When a demand of size s is to
// be assigned, all sizes assigned so far are multiples of s, because s divides all larger sizes. So
// the used part uᵢ of a bin i is a multiple of s, too. A bin with capacity cᵢ therefore has room
// for exactly ⌊cᵢ/s⌋ − uᵢ/s more demands of size s. If no bin has room, the assigned demands have
// the total size Σ ⌊cᵢ/s⌋·s, which is the most that demands of size s and its multiples can fill.
// So no packing of the assigned demands and one more demand of size s exists. (Coffman, Garey and
// Johnson, "Bin packing with divisible item sizes", Journal of Complexity 3, 1987, for bins of one
// size.)
//
// For other sizes, Pack first tries best fit decreasing, and then searches for at most 200,000
// steps. If the search ends before that limit, its answer is exact. The limit is not enough for all
// inputs, because the problem is NP-complete. Best fit decreasing alone is not far from the best
// packing: with bins of one size, it needs at most 11/9 of the smallest possible number of bins,
// plus 4 (Johnson et al., "Worst-case performance bounds for simple one-dimensional packing
// algorithms", SIAM Journal on Computing 3, 1974).
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

// impossible reports whether the demands obviously cannot be packed: there is a size s such that
// the demands of size s or more add up to more than the capacity of all bins of size s or more. No
// other bin can hold one of these demands.
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

// divides reports whether each size of the demands divides the next larger one. The
// parameter `order` has the indices of the demands, by descending size of the demands.
func divides(demands, order []int) bool {
	for i := 1; i < len(order); i++ {
		if demands[order[i-1]]%demands[order[i]] != 0 {
			return false
		}
	}
	return true
}
