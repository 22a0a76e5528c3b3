package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
)

// These are names for two of the kernel's files. Before the agent changes a file for the first
// time, it stores the file's content under such a name in the map steering.State. files.path
// returns the path of a file. The file of an interrupt has a name such as irq/24.
const (
	defaultIRQ = "irq/default" // the CPUs of interrupts that drivers add later
	workqueues = "workqueue"
)

// files are the kernel's files that set on which CPUs interrupts and unbound workqueues run.
// Sources: https://docs.kernel.org/core-api/irq/irq-affinity.html;
// https://docs.kernel.org/core-api/workqueue.html, "Affinity Scopes".
type files struct{ proc, sys string }

// path returns the path of a file, and whether the file has a bit mask of CPUs instead of a list.
func (f files) path(name string) (path string, mask bool) {
	switch name {
	case defaultIRQ:
		return filepath.Join(f.proc, "irq/default_smp_affinity"), true
	case workqueues:
		return filepath.Join(f.sys, "sys/devices/virtual/workqueue/cpumask"), true
	}
	return filepath.Join(f.proc, name, "smp_affinity_list"), false
}

// read returns the CPUs in each of the kernel's files. It leaves out a file that does not exist,
// and the file of an interrupt that nobody can move or whose affinity the kernel does not report.
func (f files) read() (map[string]cpuset.Set, error) {
	entries, err := os.ReadDir(filepath.Join(f.proc, "irq"))
	if err != nil {
		return nil, fmt.Errorf("list interrupts: %w", err)
	}
	names := []string{defaultIRQ, workqueues}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			names = append(names, "irq/"+e.Name())
		}
	}
	all := map[string]cpuset.Set{}
	for _, name := range names {
		if f.fixed(name) {
			continue
		}
		cpus, err := f.one(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EIO) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[name] = cpus
	}
	return all, nil
}

// The method `one` returns the CPUs in the kernel's file with the given name. From Linux 6.7 on,
// the kernel leaves CPUs in isolated partitions out of the file of the workqueues. Such a kernel
// has a second file, with the CPUs as they were written, and the method reads the second file
// instead.
func (f files) one(name string) (cpuset.Set, error) {
	path, mask := f.path(name)
	text, err := os.ReadFile(path)
	if name == workqueues && err == nil {
		if written, missing := os.ReadFile(path + "_requested"); missing == nil {
			text = written
		}
	}
	if err != nil {
		return cpuset.Set{}, err
	}
	parse := cpuset.Parse
	if mask {
		parse = cpuset.ParseMask
	}
	cpus, err := parse(string(text))
	if err != nil {
		return cpuset.Set{}, fmt.Errorf("%s: %w", path, err)
	}
	return cpus, nil
}

func (f files) write(name string, cpus cpuset.Set) error {
	path, mask := f.path(name)
	text := cpus.String()
	if mask {
		text = cpus.Mask()
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// fixed reports whether the kernel gives nobody the permission to write an interrupt's file, because
// nobody can move the interrupt. On Linux 6.12 this file then has the mode 0444, for example for a
// device that has one queue for each CPU. Root could open such a file only with CAP_DAC_OVERRIDE,
// which the agent does not have.
func (f files) fixed(name string) bool {
	path, _ := f.path(name)
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o222 == 0
}

// unmovable reports whether a write to an interrupt's file failed because the kernel does not let
// anybody move the interrupt. In this case, the system call write returns EIO, or EPERM on newer
// kernels (seen on 6.18). If the process lacks the permission to open the file, the system call
// open fails instead, and unmovable returns false.
// Source: https://github.com/torvalds/linux/blob/v6.12/kernel/irq/proc.c, write_irq_affinity.
func unmovable(err error) bool {
	path := (*fs.PathError)(nil)
	return errors.As(err, &path) && path.Op == "write" && (errors.Is(err, unix.EIO) || errors.Is(err, unix.EPERM))
}

// writable returns an error if this process cannot move interrupts or workqueues.
func (f files) writable() error {
	for _, name := range []string{defaultIRQ, workqueues} {
		path, _ := f.path(name)
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("the agent cannot write %w; apply deploy/isolation, which mounts it", err)
		}
		file.Close()
	}
	return nil
}

// irqbalance returns the PID of the program irqbalance, or "" if it does not run.
func (f files) irqbalance() (string, error) {
	names, err := filepath.Glob(filepath.Join(f.proc, "[0-9]*/comm"))
	if err != nil {
		return "", err
	}
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err == nil && strings.TrimSpace(string(comm)) == "irqbalance" { // err is not nil if the process has ended since Glob found it
			return filepath.Base(filepath.Dir(name)), nil
		}
	}
	return "", nil
}
