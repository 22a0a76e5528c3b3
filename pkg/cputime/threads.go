package cputime

import (
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// PID is a process ID.
type PID int

// Threads adds up the time that kernel threads used, by CPU. The zero value is ready.
//
// The time that a thread used between two updates counts on the CPU on which the thread ran last.
// This is exact for threads that are bound to one CPU, as most are. The kernel has no count of
// kernel threads per CPU; a trace of all context switches was rejected as far too expensive.
type Threads struct {
	last  map[PID]Task
	onCPU map[cpuset.CPU]time.Duration
}

// Update records the present kernel threads, each with its counters.
func (t *Threads) Update(now map[PID]Task) {
	if t.onCPU == nil {
		t.onCPU = map[cpuset.CPU]time.Duration{}
	} else {
		t.add(now)
	}
	t.last = now
}

// add adds what the threads have used since the last update. A new thread has used all its time
// after the last update.
func (t *Threads) add(now map[PID]Task) {
	for pid, task := range now {
		if strings.HasPrefix(task.Name, "ksoftirqd/") {
			continue // its time is in the column softirq of /proc/stat: account_process_tick of kernel/sched/cputime.c
		}
		used := task.Used
		if before, ok := t.last[pid]; ok && before.Start == task.Start {
			used -= before.Used
		}
		t.onCPU[task.CPU] += max(used, 0)
	}
}

// On returns the time that kernel threads used on some CPUs since the first update.
func (t *Threads) On(cpus cpuset.Set) (used time.Duration) {
	for cpu := range cpus.All() {
		used += t.onCPU[cpu]
	}
	return used
}
