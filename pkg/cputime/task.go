package cputime

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Task has the fields of /proc/PID/stat for one thread.
type Task struct {
	Name   string
	Kernel bool          // whether it is a kernel thread
	CPU    cpuset.CPU    // the CPU on which it ran last
	Used   time.Duration // CPU time in user and system mode since it was created
	Start  uint64        // when it was created, in ticks after boot; if a PID is used again, the new task has a different value
}

// Indexes of the fields of /proc/PID/stat that come after the name. Each is the number of the field
// in the manual minus 3. Source: proc_pid_stat(5).
const (
	flagsField     = 9 - 3
	utimeField     = 14 - 3
	stimeField     = 15 - 3
	startField     = 22 - 3
	processorField = 39 - 3
)

// kernelThread is PF_KTHREAD of include/linux/sched.h, in the flags of /proc/PID/stat.
const kernelThread = 0x00200000

// ParseTask parses /proc/PID/stat. The name is in parentheses and may have spaces and
// parentheses itself.
func ParseTask(text string) (task Task, err error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return task, fmt.Errorf("parse /proc/PID/stat %q: it has no name in parentheses", text)
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) <= processorField {
		return task, fmt.Errorf("parse /proc/PID/stat of %q: %d fields after the name, want %d", text[open+1:end], len(fields), processorField+1)
	}
	task.Name = text[open+1 : end]
	if err := task.parse(fields); err != nil {
		return Task{}, fmt.Errorf("parse /proc/PID/stat of %q: %w", task.Name, err)
	}
	return task, nil
}

func (t *Task) parse(fields []string) error {
	flags, err := strconv.ParseUint(fields[flagsField], 10, 32)
	if err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	cpu, err := strconv.ParseUint(fields[processorField], 10, 16)
	if err != nil {
		return fmt.Errorf("processor: %w", err)
	}
	if t.Start, err = strconv.ParseUint(fields[startField], 10, 64); err != nil {
		return fmt.Errorf("start time: %w", err)
	}
	inUser, err := parseCount(fields[utimeField], tick)
	if err != nil {
		return fmt.Errorf("user time: %w", err)
	}
	inSystem, err := parseCount(fields[stimeField], tick)
	if err != nil {
		return fmt.Errorf("system time: %w", err)
	}
	t.Kernel, t.CPU, t.Used = flags&kernelThread != 0, cpuset.CPU(cpu), inUser+inSystem
	return nil
}
