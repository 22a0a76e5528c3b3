package pack

import "slices"

// Outcome says how many demands found a bin, and what is known of the others.
type Outcome uint8

// The outcomes.
const (
	All     Outcome = iota // every demand has a bin
	Proven                 // not all have, and there is no way in which all could
	Unknown                // not all have; the search for a way was given up
)

// Packing is where each demand goes.
type Packing struct {
	Bin     []int // of each demand, or Nowhere
	Outcome Outcome
}

// Nowhere stands for the bin of a demand without one.
const Nowhere = -1

// Pack packs all demands if it can be done, and as it falls if not: then the
// largest demands come first. Sizes of demands are positive.
//
// It is exact where the demands' sizes divide one another, as 1, 2, 4 and 8 do.
// Largest first, each into any bin with room: when s comes up, all that is packed
// is a multiple of s, so bin i has room for ⌊cᵢ/s⌋ − uᵢ/s more of s, whatever went
// where; if none has room, what is packed fills Σ ⌊cᵢ/s⌋·s, and nobody can pack it
// and s. (Coffman, Garey and Johnson, "Bin packing with divisible item sizes",
// Journal of Complexity 3, 1987, for bins of one size.)
//
// For other sizes it is exact wherever best fit, largest first, packs all, or the
// search that follows ends within its patience, 200,000 demands put somewhere.
// That is not proven to be enough: the question is NP-complete. What best fit
// packs alone is bounded: it needs at most 11/9 as many equal bins as need be, and
// 4 more (Johnson et al., "Worst-case performance bounds for simple
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

// impossible reports whether for some size the demands of at least that size are
// more than the bins have room for.
func impossible(bins, demands []int) bool {
	for _, least := range slices.Compact(slices.Sorted(slices.Values(demands))) {
		need, room := 0, 0
		for _, d := range demands {
			if d >= least {
				need += d
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
