package fairness

import (
	"math"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
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

// Pods counts pods.
type Pods struct {
	All   int
	Large int // those that ask for several cards
}

func (n *Pods) add(p *sched.Pod) {
	n.All++
	if p.GPUs.Count > 1 {
		n.Large++
	}
}

// Waits are times of waiting.
type Waits []time.Duration

// Quantile returns the smallest of the times that a part q of all at least do not
// exceed, 0 where there are none. It sorts w.
func (w Waits) Quantile(q float64) time.Duration {
	if len(w) == 0 {
		return 0
	}
	slices.Sort(w)
	return w[max(1, int(math.Ceil(q*float64(len(w)))))-1]
}
