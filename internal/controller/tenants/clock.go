package tenants

import "time"

// SteadyClock returns a clock that does not jump, for a Ledger. The clock shows the start time (the
// parameter `start`) plus the time that has passed since then. The function given as `since` returns
// how much time has passed. Programs pass time.Since, which uses the monotonic clock. Tests pass
// other functions.
//
// A Ledger does not use the wall clock, because the wall clock can jump. The time of a Ledger never
// goes back. So if the wall clock were 30 days ahead for a moment, the time of the Ledger would
// then stand still for 30 days, even if the clock was corrected at once. In these 30 days, no score
// would change.
//
// The times of the clock are whole microseconds, as are the times in the statuses of Tenants. So
// accounts are the same after they are stored in a status and restored.
func SteadyClock(start time.Time, since func(time.Time) time.Duration) func() time.Time {
	return func() time.Time { return start.Add(since(start)).Truncate(time.Microsecond) }
}
