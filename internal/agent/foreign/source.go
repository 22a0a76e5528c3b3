package foreign

import (
	"time"

	"github.com/numalet/numalet/pkg/cputime"
)

// Source is one source of foreign time on exclusive CPUs, such as interrupts, with the
// advice that messages give about this source.
type Source struct {
	Label        string // the value of the label "source" in the metric numalet_container_foreign_cpu_seconds_total
	Used         func(cputime.Foreign) time.Duration
	name, remedy string // used in messages
}

// Sources returns all sources of foreign time: interrupts, kernel threads and other
// processes.
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
