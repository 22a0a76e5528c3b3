package sched

import "time"

// Backoff is an exponential delay between retries. It starts with First, doubles
// after each failure, and never exceeds Most.
type Backoff struct{ First, Most time.Duration }

// The method Or returns a copy of b in which each field that is zero or negative in b has the value
// of this field in `other`.
func (b Backoff) Or(other Backoff) Backoff {
	if b.First <= 0 {
		b.First = other.First
	}
	if b.Most <= 0 {
		b.Most = other.Most
	}
	return b
}

// Delay returns the delay after the n-th failure, for n ≥ 1. The call is fast even if n
// is huge: it doubles First at most 1 + log2(Most/First) times.
func (b Backoff) Delay(n int) time.Duration {
	d := b.First
	for range n - 1 {
		if d *= 2; d >= b.Most {
			return b.Most
		}
	}
	return min(d, b.Most)
}
