package sched

import "time"

// Backoff is how long to wait after something failed: First, then twice as long
// each time, and Most at most.
type Backoff struct{ First, Most time.Duration }

// Or returns b with what is not positive in it taken from other.
func (b Backoff) Or(other Backoff) Backoff {
	if b.First <= 0 {
		b.First = other.First
	}
	if b.Most <= 0 {
		b.Most = other.Most
	}
	return b
}

// Delay returns how long to wait after the n-th failure, n ≥ 1. It costs
// O(log(Most/First)) at most.
func (b Backoff) Delay(n int) time.Duration {
	d := b.First
	for range n - 1 {
		if d *= 2; d >= b.Most {
			return b.Most
		}
	}
	return min(d, b.Most)
}
