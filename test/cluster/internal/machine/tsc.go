package machine

import "time"

// rdtsc reads the time stamp counter; under software emulation the guest's
// own counter is the host's.
func rdtsc() uint64

// tscKHz measures how fast the counter runs, within a few parts in ten
// thousand. The guest is told (tsc_early_khz): on a busy host its own
// calibration was seen to be wrong by a factor of seven, and its clock with it.
func tscKHz() uint64 {
	const span = 100 * time.Millisecond
	t0, c0 := simultaneous()
	time.Sleep(span)
	t1, c1 := simultaneous()
	return (c1 - c0) * uint64(time.Millisecond) / uint64(t1.Sub(t0))
}

// simultaneous reads the clock and the counter at nearly the same moment: of
// some attempts the one that was disturbed least.
func simultaneous() (time.Time, uint64) {
	var when time.Time
	var counter uint64
	best := ^uint64(0)
	for range 50 {
		before := rdtsc()
		now := time.Now()
		if gap := rdtsc() - before; gap < best {
			best, when, counter = gap, now, before+gap/2
		}
	}
	return when, counter
}
