// Package cputime computes what the time of exclusive CPUs was used for. Foreign time is the time
// that the CPUs of a container were busy, less the time that the container used: the time of
// interrupts, of kernel threads and of other processes.
//
// Its input is the text of kernel files, which the agent reads. Its output is numbers.
package cputime

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// tick is the unit of /proc/stat and /proc/PID/stat: 1/USER_HZ seconds. USER_HZ is 100 on
// every architecture that Kubernetes supports, whatever CONFIG_HZ is.
// Source: https://docs.kernel.org/filesystems/proc.html, "Miscellaneous kernel statistics in
// /proc/stat"; include/asm-generic/param.h.
const tick = 10 * time.Millisecond

// Times has the times that the kernel accounted for one CPU since boot.
type Times struct {
	Busy       time.Duration // not idle, including interrupts
	Interrupts time.Duration // hard and soft
}

// Columns of a line "cpuN" after its name.
const (
	user = iota
	nice
	system
	idle
	iowait
	irq
	softirq
)

// ParseStat returns the times of the online CPUs in /proc/stat. Steal time is not busy time,
// because another virtual machine used the CPU. Guest time is part of user time.
func ParseStat(text string) (map[cpuset.CPU]Times, error) {
	cpus := map[cpuset.CPU]Times{}
	for line := range strings.Lines(text) {
		name, counters, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, isCPU := strings.CutPrefix(name, "cpu")
		if !isCPU {
			break // the lines of CPUs are the first ones, and "intr" is long
		}
		if number == "" {
			continue // the sum of all
		}
		cpu, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("parse /proc/stat: CPU %q: %w", name, err)
		}
		if cpus[cpuset.CPU(cpu)], err = parseTimes(counters); err != nil {
			return nil, fmt.Errorf("parse /proc/stat: %s: %w", name, err)
		}
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("parse /proc/stat: it has no line of a CPU")
	}
	return cpus, nil
}

func parseTimes(counters string) (Times, error) {
	var all [softirq + 1]time.Duration
	fields := strings.Fields(counters)
	if len(fields) < len(all) {
		return Times{}, fmt.Errorf("%d counters, want at least %d", len(fields), len(all))
	}
	for i := range all {
		n, err := parseCount(fields[i], tick)
		if err != nil {
			return Times{}, err
		}
		all[i] = n
	}
	interrupts := all[irq] + all[softirq]
	return Times{Busy: all[user] + all[nice] + all[system] + interrupts, Interrupts: interrupts}, nil
}
