package cputime

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// ParseUsage returns the CPU time that a cgroup of version 2 and its descendants have used, over
// all CPUs. It parses cpu.stat, which has the time in microseconds (usage_usec).
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files.
func ParseUsage(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "usage_usec ")
		if !ok {
			continue
		}
		used, err := parseCount(strings.TrimSpace(value), time.Microsecond)
		if err != nil {
			return 0, fmt.Errorf("parse usage_usec of cpu.stat: %w", err)
		}
		return used, nil
	}
	return 0, fmt.Errorf("parse cpu.stat: it has no usage_usec")
}

// ParseUsagePerCPU returns the CPU time that a cgroup of version 1 and its descendants have used on
// some CPUs. It parses cpuacct.usage_percpu, which has one number for each possible CPU, in
// nanoseconds.
// Source: https://docs.kernel.org/admin-guide/cgroup-v1/cpuacct.html; the file is written by
// kernel/sched/cpuacct.c, __cpuacct_percpu_seq_show.
func ParseUsagePerCPU(text string, on cpuset.Set) (used time.Duration, err error) {
	fields := strings.Fields(text)
	for cpu := range on.All() {
		if int(cpu) >= len(fields) {
			return 0, fmt.Errorf("parse cpuacct.usage_percpu: it has %d CPUs, and none with the number %d", len(fields), cpu)
		}
		n, err := parseCount(fields[cpu], time.Nanosecond)
		if err != nil {
			return 0, fmt.Errorf("parse cpuacct.usage_percpu: CPU %d: %w", cpu, err)
		}
		used += n
	}
	return used, nil
}

// parseCount parses a number of units of time. It returns an error if the time is longer than 292
// years, the most that a time.Duration can hold. A sum of such times over many CPUs may overflow.
// It then wraps around, so the difference of two sums is still correct.
func parseCount(text string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil && n > math.MaxInt64/uint64(unit) {
		err = fmt.Errorf("%d is more than a machine can have run", n)
	}
	return time.Duration(n) * unit, err
}
