package cputime

import (
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// PID is a process ID.
type PID int

// Threads adds up the time that kernel threads used on each CPU. The zero value is ready to use.
//
// The time that a thread used between two updates is added to the CPU on which the thread ran last.
// This is exact for threads that are bound to one CPU, as most kernel threads are. The kernel has
// no counter of the time of kernel threads on each CPU. Tracing all context switches would give
// exact times, but it would use too much CPU time.
type Threads struct {
	last  map[PID]Task
	onCPU map[cpuset.CPU]time.Duration
}

// Update adds the times that kernel threads used since the last update. The parameter `now` has the
// kernel threads that exist, with their counters.
func (t *Threads) Update(now map[PID]Task) {
	if t.onCPU == nil {
		t.onCPU = map[cpuset.CPU]time.Duration{}
	} else {
		t.add(now)
	}
	t.last = now
}

// add adds what each thread has used since the last update. A thread that is not in t.last is new,
// so all its time is after the last update.
func (t *Threads) add(now map[PID]Task) {
	for pid, task := range now {
		if strings.HasPrefix(task.Name, "ksoftirqd/") {
			continue // ksoftirqd runs soft interrupts, and its time is in the column softirq of /proc/stat; see account_process_tick in kernel/sched/cputime.c
		}
		used := task.Used
		if before, ok := t.last[pid]; ok && before.Start == task.Start {
			used -= before.Used
		}
		t.onCPU[task.CPU] += max(used, 0)
	}
}

// On returns the time that kernel threads have used on the given CPUs since the first update.
func (t *Threads) On(cpus cpuset.Set) (used time.Duration) {
	for cpu := range cpus.All() {
		used += t.onCPU[cpu]
	}
	return used
}
