package cputime

import (
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// PID is the number of a task.
type PID int

// Threads adds up the time that kernel threads used, by CPU. The zero value is ready.
//
// What a thread used between two updates counts on the CPU on which it ran last. Most
// threads are bound to one CPU, for which that is exact. The kernel has no count of kernel
// threads per CPU; a trace of all context switches was rejected as far too expensive.
type Threads struct {
	last  map[PID]Task
	onCPU map[cpuset.CPU]time.Duration
}

// Update takes the present kernel threads, each with its counters.
func (t *Threads) Update(now map[PID]Task) {
	if t.onCPU == nil {
		t.onCPU = map[cpuset.CPU]time.Duration{}
	} else {
		t.add(now)
	}
	t.last = now
}

// add adds what the threads have used since the last update. All that a new thread has used
// was after it.
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
