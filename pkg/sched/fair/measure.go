package fair

import (
	"slices"
	"time"
)

// Jain returns Jain's index of amounts: 1 where all are equal, 1/n where one has all,
//
//	(Σx)² / (n · Σx²)
//
// and 1 where nobody has any. Source: https://arxiv.org/abs/cs/9809099
func Jain(xs []float64) float64 {
	sum, squares := 0., 0.
	for _, x := range xs {
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(xs)) * squares)
}

// Waits are times of waiting.
type Waits []time.Duration

// Quantile returns the smallest time that a part q of all do not exceed, 0 where
// there are none. It sorts w.
func (w Waits) Quantile(q float64) time.Duration {
	if len(w) == 0 {
		return 0
	}
	slices.Sort(w)
	return w[min(len(w)-1, int(q*float64(len(w))))]
}
