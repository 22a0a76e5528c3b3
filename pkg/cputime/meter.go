package cputime

import (
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Sample has the counters of a container and of its CPUs at one moment. Each counter is a sum over
// the CPUs. A counter may start at any value, because only differences between samples are used.
type Sample struct {
	At        time.Time
	Container string        // the ID in the container runtime, which changes when the container restarts
	CPUs      cpuset.Set    // the container's online CPUs
	Times                   // of the CPUs: busy time and time of interrupts
	Kernel    time.Duration // CPU time that kernel threads used on the CPUs
	Owner     time.Duration // CPU time that the container used
}

// Take returns a sample of a container. The parameter `owner` is the CPU time that the container
// used, `online` has the times of the machine's online CPUs, and `kernel` has the times of the
// machine's kernel threads.
func Take(at time.Time, container string, cpus cpuset.Set, owner time.Duration, online map[cpuset.CPU]Times, kernel *Threads) Sample {
	s := Sample{At: at, Container: container, Owner: owner}
	var present []cpuset.CPU
	for cpu := range cpus.All() {
		if t, ok := online[cpu]; ok {
			present = append(present, cpu)
			s.Busy += t.Busy
			s.Interrupts += t.Interrupts
		}
	}
	s.CPUs = cpuset.Of(present...)
	s.Kernel = kernel.On(s.CPUs)
	return s
}

// Foreign is foreign time, by source: time that a container's exclusive CPUs spent on anything but
// the container. Exclusive is the total time of the CPUs, of which foreign time is a part.
type Foreign struct {
	Interrupts time.Duration // hard and soft interrupts
	Kernel     time.Duration // kernel threads
	Other      time.Duration // other processes
	Exclusive  time.Duration // measured time × number of CPUs, whether busy or idle
}

// Total returns the sum of all sources.
func (f Foreign) Total() time.Duration { return f.Interrupts + f.Kernel + f.Other }

// Share returns the part of the CPUs' time that was foreign, from 0 to 1.
func (f Foreign) Share() float64 {
	if f.Exclusive <= 0 {
		return 0
	}
	return min(float64(f.Total())/float64(f.Exclusive), 1)
}

// Plus returns the sum of two measurements.
func (f Foreign) Plus(g Foreign) Foreign {
	return Foreign{f.Interrupts + g.Interrupts, f.Kernel + g.Kernel, f.Other + g.Other, f.Exclusive + g.Exclusive}
}

// Minus returns f minus g. The caller passes an earlier value of the running sum f as g, and gets
// what was added to the sum since then.
func (f Foreign) Minus(g Foreign) Foreign {
	return Foreign{f.Interrupts - g.Interrupts, f.Kernel - g.Kernel, f.Other - g.Other, f.Exclusive - g.Exclusive}
}

// Meter measures the foreign time on the CPUs of one container. The zero value is ready to use.
//
// The counters are not all read at the same time, and /proc/stat counts in steps of 10 ms. So the
// container may seem to have used more time than its CPUs were busy. The foreign time would then be
// negative. In this case it counts as 0, and the amount below 0 is stored as a debt, which is
// subtracted from the next measurement. Without the debt, the sum of the measurements would be too
// large: errors that make the foreign time too large would be in it, but errors that make it
// negative would not.
type Meter struct {
	last Sample
	debt time.Duration
}

// maxDebt is the largest debt (see Meter) for each CPU. It is twice the step of /proc/stat, because
// the errors of a CPU's counters are at most this large. A larger debt would hide foreign time.
const maxDebt = 2 * tick

// Add returns the foreign time between the last sample and the sample given as `now`. Two samples
// cannot be compared if, between them, the container restarted, its online CPUs changed, or a
// counter went back. For such samples, Add returns zero.
func (m *Meter) Add(now Sample) Foreign {
	before := m.last
	m.last = now
	if !now.follows(before) {
		m.debt = 0
		return Foreign{}
	}
	foreign := (now.Busy - before.Busy) - (now.Owner - before.Owner) - m.debt
	m.debt = min(max(-foreign, 0), maxDebt*time.Duration(now.CPUs.Len()))
	f := split(max(foreign, 0), now.Interrupts-before.Interrupts, now.Kernel-before.Kernel)
	f.Exclusive = now.At.Sub(before.At) * time.Duration(now.CPUs.Len())
	return f
}

// follows reports whether s is a later sample of the same container on the same CPUs, and no
// counter was reset between the two samples.
func (s Sample) follows(before Sample) bool {
	return s.Container == before.Container && s.CPUs.Equal(before.CPUs) && s.At.After(before.At) &&
		s.Busy-before.Busy >= 0 && s.Interrupts-before.Interrupts >= 0 && s.Kernel-before.Kernel >= 0 && s.Owner-before.Owner >= 0
}

// split divides foreign time among its sources. It first assigns the measured times of interrupts
// and kernel threads. The rest is the time of other processes. The time of interrupts can be more
// than the foreign time: a kernel without CONFIG_IRQ_TIME_ACCOUNTING also charges the time of an
// interrupt to the interrupted process. If this process belongs to the container, the interrupt
// counts as time that the container used, and not as foreign time.
func split(foreign, interrupts, kernel time.Duration) (f Foreign) {
	f.Interrupts = min(interrupts, foreign)
	f.Kernel = min(kernel, foreign-f.Interrupts)
	f.Other = foreign - f.Interrupts - f.Kernel
	return f
}
