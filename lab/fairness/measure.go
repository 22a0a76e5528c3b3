package fairness

import (
	"math"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Jain returns Jain's fairness index of n amounts x. It is 1/n if all amounts but one are 0, and 1
// if all are equal:
//
//	(Σx)² / (n · Σx²)
//
// It is 1 too if all amounts are 0. Source: https://arxiv.org/abs/cs/9809099
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
	Large int // pods with several GPUs
}

func (n *Pods) add(pod *sched.Pod) {
	n.All++
	if pod.GPUs.Count > 1 {
		n.Large++
	}
}

// Waits are waiting times.
type Waits []time.Duration

// Quantile sorts the times and returns their q-quantile: for q = 0.9, this is the shortest time
// in the list that at least 90 % of the times do not exceed. It returns 0 if the list is empty.
func (w Waits) Quantile(q float64) time.Duration {
	if len(w) == 0 {
		return 0
	}
	slices.Sort(w)
	return w[max(1, int(math.Ceil(q*float64(len(w)))))-1]
}

// meter integrates an amount over time. The integral of a number of GPUs is in GPU-seconds.
type meter struct {
	amount, sum float64
	at          time.Time
}

func (m *meter) reset(now time.Time) { m.sum, m.at = 0, now }

// add changes the amount by a value, which may be negative. The new amount applies from the time
// given as `now`.
func (m *meter) add(by float64, now time.Time) {
	m.sum = m.area(now)
	m.at = now
	m.amount += by
}

// area returns the integral from the last reset to the time given as `now`.
func (m *meter) area(now time.Time) float64 { return m.sum + m.amount*now.Sub(m.at).Seconds() }
