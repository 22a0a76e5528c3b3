package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cputime"
)

// Usage returns the CPU time that a container has used on the given CPUs. cgroup v2 has no counter
// for each CPU, so on cgroup v2 Usage returns the CPU time that the container has used on all CPUs.
// The error for a container without a cgroup is ErrNotExist.
func (c *Cgroups) Usage(target string, on cpuset.Set) (time.Duration, error) {
	at, err := locate(target)
	if err != nil {
		return 0, err
	}
	used, err := c.tree.usage(at.path, on)
	if err != nil {
		return 0, fmt.Errorf("read CPU time of %s: %w", target, asNotExist(err))
	}
	return used, nil
}

func (u unified) usage(path string, _ cpuset.Set) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(u.dir(path), "cpu.stat"))
	if err != nil {
		return 0, err
	}
	return cputime.ParseUsage(string(text))
}

func (l legacy) usage(path string, on cpuset.Set) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(l.root, "cpuacct", path, "cpuacct.usage_percpu"))
	if err != nil {
		return 0, err
	}
	return cputime.ParseUsagePerCPU(string(text), on)
}
