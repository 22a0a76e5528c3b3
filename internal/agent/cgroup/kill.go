package cgroup

import (
	"fmt"
	"path/filepath"
)

// Kill ends all processes of a container. It needs the file cgroup.kill, which exists since Linux
// 5.14, and only with cgroup v2. There is no other way: the agent cannot signal the processes,
// because it has a PID namespace of its own.
func (c *Cgroups) Kill(target string) error {
	at, err := locate(target)
	if err == nil {
		err = write(filepath.Join(c.tree.dir(at.path), "cgroup.kill"), "1")
	}
	if err != nil {
		return fmt.Errorf("kill the processes in %s: %w", target, asNotExist(err))
	}
	return nil
}

// Killable returns nil if Kill works on this node, and otherwise an error that says what Kill needs.
// The root cgroup has no file cgroup.kill, so Killable looks for it in the cgroups below the root.
func (c *Cgroups) Killable() error {
	if found, _ := filepath.Glob(filepath.Join(c.tree.dir("/"), "*", "cgroup.kill")); len(found) == 0 {
		return fmt.Errorf("no cgroup in %s has the file cgroup.kill; use cgroup v2 and Linux 5.14 or later", c.tree.dir("/"))
	}
	return nil
}
