package foreign

import (
	"time"

	"github.com/numalet/numalet/pkg/cputime"
)

// Source is one source of foreign time, and what to do about it.
type Source struct {
	Label        string // of the metric
	Used         func(cputime.Foreign) time.Duration
	name, remedy string // in messages
}

// Sources returns all sources.
func Sources() []Source {
	return []Source{
		{
			"interrupts", func(f cputime.Foreign) time.Duration { return f.Interrupts },
			"interrupts", "steer them to other CPUs (/proc/irq/*/smp_affinity_list; IRQBALANCE_BANNED_CPULIST of irqbalance)",
		},
		{
			"kernel", func(f cputime.Foreign) time.Duration { return f.Kernel },
			"kernel threads", "keep unbound workqueues off these CPUs (/sys/devices/virtual/workqueue/cpumask)",
		},
		{
			"other", func(f cputime.Foreign) time.Duration { return f.Other },
			"other processes", "find them with ps -eLo psr,pid,comm, and confine system.slice with AllowedCPUs",
		},
	}
}
