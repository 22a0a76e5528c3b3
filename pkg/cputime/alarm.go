package cputime

import (
	"slices"
	"time"
)

// Alarm says whether the share of foreign time (see Foreign) on a container's CPUs is too large.
// It measures this share over a window of time, such as the last minutes. The zero value is
// ready to use.
type Alarm struct {
	past []reading // readings in the window, and the last reading before the window
	on   bool
}

// reading is the sum of all foreign time of the container until the time `at`.
type reading struct {
	at  time.Time
	sum Foreign
}

// Update records the sum of all foreign time until the time given as `at`. The alarm is switched on
// when the share of foreign time over a whole window is at least the threshold. It is switched off
// when the share is below half of the threshold, so that a share near the threshold does not switch
// it on and off repeatedly. Update returns the foreign time in the window, and whether the alarm is
// on. If the first reading is more recent than the start of the window, Update returns the foreign
// time since the first reading instead.
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
