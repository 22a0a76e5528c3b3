package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cputime"
)

// procfs reads the CPU time of CPUs and of kernel threads from the host's /proc. The /proc of a
// container does not suffice, because it shows only the container's PID namespace, which has no
// kernel threads.
type procfs struct {
	root    fs.FS
	known   map[cputime.PID]bool // whether the process with this PID is a kernel thread
	threads cputime.Threads
}

// read returns the CPU times of the online CPUs. It also updates the CPU times of the kernel
// threads in p.
func (p *procfs) read() (map[cpuset.CPU]cputime.Times, error) {
	text, err := fs.ReadFile(p.root, "stat")
	if err != nil {
		return nil, fmt.Errorf("read the times of the CPUs: %w", err)
	}
	online, err := cputime.ParseStat(string(text))
	if err != nil {
		return nil, err
	}
	return online, p.readThreads()
}

// readThreads reads the CPU time of each kernel thread. It reads any other process only once, to
// find out that the process is not a kernel thread. To read all processes each time would be slow,
// because a machine can have far more other processes than kernel threads. If a process ends and a
// new kernel thread gets its PID before the next read, readThreads does not notice that the PID now
// belongs to a kernel thread. The CPU time of that thread then counts as time of other processes.
func (p *procfs) readThreads() error {
	entries, err := fs.ReadDir(p.root, ".")
	if err != nil {
		return fmt.Errorf("list kernel threads: %w", err)
	}
	known, now := map[cputime.PID]bool{}, map[cputime.PID]cputime.Task{}
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not the directory of a process
		}
		pid := cputime.PID(number)
		if kernel, seen := p.known[pid]; seen && !kernel {
			known[pid] = false
			continue
		}
		task, err := p.task(e.Name())
		if err != nil && !ended(err) {
			return err
		}
		if err != nil {
			continue
		}
		if known[pid] = task.Kernel; task.Kernel {
			now[pid] = task
		}
	}
	p.known = known
	p.threads.Update(now)
	return nil
}

func (p *procfs) task(pid string) (cputime.Task, error) {
	text, err := fs.ReadFile(p.root, pid+"/stat")
	if err != nil {
		return cputime.Task{}, fmt.Errorf("read /proc/%s/stat: %w", pid, err)
	}
	return cputime.ParseTask(string(text))
}

// ended reports whether err means that a process ended before its file in /proc was opened or read.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
