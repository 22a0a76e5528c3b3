package tenants

import "time"

// SteadyClock returns a clock for a Ledger. Its time is start plus the result of since. A program
// passes time.Since, which uses the monotonic clock.
//
// The wall clock was rejected, because it can jump. The time of a Ledger never goes back. If the
// wall clock were 30 days ahead for a moment, no score would change for the next 30 days, even if
// the clock was corrected at once.
//
// The times are whole microseconds, as in the stored accounts. So restored accounts equal the
// stored ones.
func SteadyClock(start time.Time, since func(time.Time) time.Duration) func() time.Time {
	return func() time.Time { return start.Add(since(start)).Truncate(time.Microsecond) }
}
