package hollowcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a running program under test.
type Process struct {
	Log  string // path of its standard output and error
	cmd  *exec.Cmd
	over chan struct{}
}

// Start starts a program. Its log file is in the control plane's directory.
func (p *Plane) Start(name, program string, args ...string) (*Process, error) {
	return p.StartWith(nil, name, program, args...)
}

// StartWith starts a program as Start does. The parameter `env` has additional environment
// variables for it, such as "GOGC=400".
func (p *Plane) StartWith(env []string, name, program string, args ...string) (*Process, error) {
	log, err := os.Create(p.File(name + ".log"))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer log.Close()
	r := &Process{Log: log.Name(), cmd: exec.Command(program, args...), over: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.Env = append(os.Environ(), env...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { _ = r.cmd.Wait(); close(r.over) }()
	return r, nil
}

// PID returns the process ID.
func (r *Process) PID() int { return r.cmd.Process.Pid }

// Signal sends a signal.
func (r *Process) Signal(s syscall.Signal) error { return r.cmd.Process.Signal(s) }

// Over returns a channel that is closed when the process ends.
func (r *Process) Over() <-chan struct{} { return r.over }

// Stop sends SIGTERM to the process. If the process still runs after the duration given as `grace`,
// Stop sends SIGKILL. It returns when the process has ended.
func (r *Process) Stop(grace time.Duration) error {
	if err := r.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", r.cmd.Path, err)
	}
	select {
	case <-r.over:
	case <-time.After(grace):
		_ = r.Signal(syscall.SIGKILL)
		<-r.over
	}
	return nil
}

// Usage is the CPU time and memory that a process has used so far.
type Usage struct {
	CPU    time.Duration // user and system time of all threads
	Faults int64         // page faults that needed no I/O, such as the first access to a page of memory
	Peak   int64         // maximum resident set size, in bytes
}

// Usage returns what the process has used so far. It reads /proc/PID/stat and /proc/PID/status; see
// proc_pid_stat(5) and proc_pid_status(5).
func (r *Process) Usage() (u Usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID()))
	if err != nil {
		return u, fmt.Errorf("read what %s has used: %w", r.cmd.Path, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	if err != nil {
		return u, fmt.Errorf("read what %s has used: %w", r.cmd.Path, err)
	}
	return parseUsage(string(stat), string(status))
}

// tick is the unit of CPU times in /proc. It is 10 ms, because USER_HZ is 100 on all Linux systems
// that Go supports. The kernel scales user and system time so that their sum is exact to a tick.
const tick = 10 * time.Millisecond

func parseUsage(stat, status string) (u Usage, err error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // f[0] is field 3 of the file
	if len(f) < 13 {
		return u, fmt.Errorf("parse /proc/PID/stat %q: too short", stat)
	}
	var faults, user, system, kB int64
	_, peak, _ := strings.Cut(status, "VmHWM:")
	for _, field := range []struct {
		text string
		into *int64
	}{{f[7], &faults}, {f[11], &user}, {f[12], &system}, {peak, &kB}} {
		if _, err := fmt.Sscan(field.text, field.into); err != nil {
			return u, fmt.Errorf("parse %q of /proc/PID: %w", field.text, err)
		}
	}
	return Usage{CPU: time.Duration(user+system) * tick, Faults: faults, Peak: kB << 10}, nil
}
