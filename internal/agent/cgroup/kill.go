package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// killTime is how long Kill waits for the end of the processes. After SIGKILL, a process ends when
// the kernel next runs it. This takes longer if the CPUs of the process are busy.
const killTime = time.Second

// Kill ends all processes of a container, and waits until they have ended. It returns an error if
// some have not ended after killTime. Kill writes the file cgroup.kill, and the kernel then sends
// SIGKILL to the processes. The file exists since Linux 5.14, and only with cgroup v2. Kill cannot
// send the signals itself, because the agent has a PID namespace of its own.
func (c *Cgroups) Kill(target string) error {
	at, err := locate(target)
	if err == nil {
		err = write(filepath.Join(c.tree.dir(at.path), "cgroup.kill"), "1")
	}
	if err == nil {
		err = c.awaitEmpty(at.path, time.Now().Add(killTime))
	}
	if err != nil {
		return fmt.Errorf("kill the processes in %s: %w", target, asNotExist(err))
	}
	return nil
}

// awaitEmpty waits until a cgroup and all cgroups below it have no processes, or no longer exist.
func (c *Cgroups) awaitEmpty(path string, until time.Time) error {
	for {
		empty, err := c.tree.empty(path)
		switch {
		case errors.Is(asNotExist(err), ErrNotExist):
			return nil
		case err != nil || empty:
			return err
		case time.Now().After(until):
			return fmt.Errorf("processes have not ended %s after SIGKILL", killTime)
		}
		time.Sleep(time.Millisecond)
	}
}

// CheckKill returns nil if Kill works on this node, and otherwise an error that says what Kill needs.
// The root cgroup has no file cgroup.kill, so CheckKill looks for it in the cgroups below the root.
func (c *Cgroups) CheckKill() error {
	if found, _ := filepath.Glob(filepath.Join(c.tree.dir("/"), "*", "cgroup.kill")); len(found) == 0 {
		return fmt.Errorf("no cgroup in %s has the file cgroup.kill; use cgroup v2 and Linux 5.14 or later", c.tree.dir("/"))
	}
	return nil
}
