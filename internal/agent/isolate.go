package agent

import (
	"context"
	"errors"
	"os"

	"github.com/numalet/numalet/internal/agent/cgroup"
	"github.com/numalet/numalet/internal/agent/checkpoint"
	"github.com/numalet/numalet/internal/agent/isolation"
	"github.com/numalet/numalet/pkg/cpuset"
)

// newIsolation creates the part of the agent that keeps interrupts off isolated CPUs. The agent
// needs this part even without the flag --isolation. An agent that ran earlier with --isolation
// may have moved interrupts to other CPUs, and this agent must move them back.
func (a *agent) newIsolation(bootID string) (err error) {
	a.isolation, err = isolation.New(isolation.Options{
		Enabled: a.cfg.Isolation, Proc: a.cfg.HostProc, Sys: a.cfg.SysfsRoot, BootID: bootID,
		Store: checkpoint.File[isolation.Saved]{Path: a.cfg.Checkpoint + ".interrupts"},
		Online: func() (cpuset.Set, error) {
			cpus, ok := online(os.DirFS(a.cfg.SysfsRoot))
			if !ok {
				return cpus, errors.New("the kernel's list is not readable")
			}
			return cpus, nil
		},
	})
	return err
}

// isolator isolates CPUs with all means that the kernel has. It moves interrupts and workqueues to
// other CPUs. The cgroup of a container on isolated CPUs can be a cpuset partition, whose CPUs no
// other cgroup can use. Package cgroup makes the partitions, and isolator ends the partitions of
// containers that have ended.
type isolator struct {
	*isolation.Isolation
	cgroups *cgroup.Cgroups
}

func (i isolator) Check() error {
	if err := i.Isolation.Check(); err != nil {
		return err
	}
	return i.cgroups.CheckPartitions()
}

func (i isolator) Partitions() bool { return i.cgroups.Partitions() }

func (i isolator) Isolate(ctx context.Context, cpus cpuset.Set) error {
	return errors.Join(i.Isolation.Isolate(ctx, cpus), i.cgroups.TidyPartitions())
}
