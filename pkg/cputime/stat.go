// Package cputime computes how much time of exclusive CPUs was used by anything but the container
// that holds them. It computes this foreign time by subtraction: the CPUs were busy for some time,
// and the container used a part of it. The remainder consists of the times of interrupts, kernel
// threads and other processes.
//
// The package parses the text of kernel files, but does not read the files; the agent does that.
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
	Busy       time.Duration // neither idle nor waiting for I/O; including interrupts
	Interrupts time.Duration // hard and soft interrupts
}

// Columns of a CPU's line of /proc/stat. The first column is the one after the CPU's name.
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
// because another virtual machine used the CPU. The columns guest and guest_nice are not added,
// because the columns user and nice include their times.
func ParseStat(text string) (map[cpuset.CPU]Times, error) {
	cpus := map[cpuset.CPU]Times{}
	for line := range strings.Lines(text) {
		name, counters, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, isCPU := strings.CutPrefix(name, "cpu")
		if !isCPU {
			break // the lines of CPUs come first, and the next line, "intr", is long
		}
		if number == "" {
			continue // the line with the sum of all CPUs
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
