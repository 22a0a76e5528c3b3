// Package proc starts detached processes and finds them again through pid files. A pid file holds
// the pid and the start time of the process. With the start time, another process that later gets
// the same pid is not mistaken for the process of the file.
package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a process with a name. Its pid file is RUN/pid/NAME and its output is in
// RUN/log/NAME.log, where RUN is the directory Run.
type Process struct{ Run, Name string }

func (p Process) pidFile() string { return filepath.Join(p.Run, "pid", p.Name) }

// LogFile returns the path of the file with the process's output.
func (p Process) LogFile() string { return filepath.Join(p.Run, "log", p.Name+".log") }

// Start runs argv in a session of its own (setsid), so that the process continues to run after this
// program has ended.
func (p Process) Start(argv ...string) error {
	for _, f := range []string{p.pidFile(), p.LogFile()} {
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			return fmt.Errorf("start %s: %w", p.Name, err)
		}
	}
	log, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	go cmd.Wait() // if the child ends before this program, it must not remain a zombie
	return p.remember(cmd.Process.Pid)
}

func (p Process) remember(pid int) error {
	started, err := startTime(pid)
	if err != nil {
		return fmt.Errorf("%s ended at once: see %s", p.Name, p.LogFile())
	}
	return os.WriteFile(p.pidFile(), fmt.Appendf(nil, "%d %s\n", pid, started), 0o644)
}

// PID returns the process ID, or 0 if the process does not run.
func (p Process) PID() int {
	b, err := os.ReadFile(p.pidFile())
	if err != nil {
		return 0
	}
	var pid int
	var started string
	if _, err := fmt.Sscan(string(b), &pid, &started); err != nil {
		return 0
	}
	if now, err := startTime(pid); err != nil || now != started {
		return 0
	}
	return pid
}

// Stop sends SIGTERM. If the process still runs after the time given as `grace`, Stop sends SIGKILL.
// It returns no error if the process does not run.
func (p Process) Stop(grace time.Duration) error {
	defer os.Remove(p.pidFile())
	for _, s := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 5 * time.Second}} {
		pid := p.PID()
		if pid == 0 {
			return nil
		}
		if err := syscall.Kill(pid, s.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop %s: %w", p.Name, err)
		}
		if p.gone(s.wait) {
			return nil
		}
	}
	return fmt.Errorf("stop %s: pid %d survives SIGKILL", p.Name, p.PID())
}

func (p Process) gone(within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if p.PID() == 0 {
			return true
		}
	}
	return p.PID() == 0
}

// startTime returns when a process started, in clock ticks since boot. The start time is field 22
// of /proc/PID/stat. For a zombie, startTime returns an error, as for a process that has ended.
// Source: proc_pid_stat(5).
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	afterName := string(b[strings.LastIndexByte(string(b), ')')+1:])
	f := strings.Fields(afterName)
	if len(f) < 20 || f[0] == "Z" {
		return "", os.ErrProcessDone
	}
	return f[19], nil
}
