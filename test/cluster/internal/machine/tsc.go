package machine

import "time"

// rdtsc returns the time stamp counter (TSC) of the host. With software emulation, the guest reads
// the host's counter.
func rdtsc() uint64

// tscKHz measures the frequency of the time stamp counter. The guest gets the frequency as a kernel
// parameter (tsc_early_khz). Without it, the guest measures the frequency itself, which is
// unreliable on a busy host: a guest's clock was once wrong by a factor of seven.
func tscKHz() uint64 {
	const span = 100 * time.Millisecond
	t0, c0 := simultaneous()
	time.Sleep(span)
	t1, c1 := simultaneous()
	return (c1 - c0) * uint64(time.Millisecond) / uint64(t1.Sub(t0))
}

// simultaneous reads the clock and the time stamp counter at nearly the same time. It reads both
// several times, and returns the result of the attempt that took the shortest time.
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
