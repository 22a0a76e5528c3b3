package cputime

import (
	"slices"
	"time"
)

// Alarm says whether a container had too much foreign time over a window. The zero value is ready.
type Alarm struct {
	past []reading // readings of the window, and one before it
	on   bool
}

// reading is the sum of all foreign time until one moment.
type reading struct {
	at  time.Time
	sum Foreign
}

// Update records the sum of all foreign time until now. The alarm goes on when the share over a
// whole window is at least the threshold. It goes off when the share is below half of the
// threshold, so that a share near the threshold does not switch it repeatedly. Update returns the
// foreign time in the window, or in a shorter time if the samples do not span the window yet.
func (a *Alarm) Update(at time.Time, sum Foreign, threshold float64, window time.Duration) (recent Foreign, on bool) {
	a.past = append(a.past, reading{at, sum})
	start := at.Add(-window)
	within := slices.IndexFunc(a.past, func(r reading) bool { return r.at.After(start) })
	a.past = slices.Delete(a.past, 0, max(within-1, 0))
	first := a.past[0]
	recent = sum.Minus(first.sum)
	whole := !first.at.After(start)
	switch {
	case whole && recent.Share() >= threshold:
		a.on = true
	case recent.Share() < threshold/2:
		a.on = false
	}
	return recent, a.on
}
