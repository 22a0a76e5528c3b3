package tenants

import "time"

// SteadyClock returns a clock for a Ledger. It starts at the time start and then follows
// since, which is time.Since in a program, so it uses the monotonic clock.
//
// The wall clock was rejected: it can jump. A ledger's time never goes back, so after one
// jump of 30 days ahead all scores would not change for 30 days, although the clock was corrected.
//
// Times are whole microseconds, as they are stored, so that restored accounts equal the
// stored ones.
func SteadyClock(start time.Time, since func(time.Time) time.Duration) func() time.Time {
	return func() time.Time { return start.Add(since(start)).Truncate(time.Microsecond) }
}
