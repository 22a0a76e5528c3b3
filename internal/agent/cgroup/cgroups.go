package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// ErrNotExist says that a container has no cgroup: it was not started yet, or
// it is gone.
var ErrNotExist = fmt.Errorf("container has no cgroup: %w", fs.ErrNotExist)

// Options of New.
type Options struct {
	Root string // the mount point of the host's cgroups; "" is /sys/fs/cgroup
	// Units sets properties of systemd units; nil is the host's systemd over
	// D-Bus, connected when the first unit needs it.
	Units UnitSetter
}

// Cgroups is the host's cgroup tree. It may be used concurrently; two writers
// of one container must be kept apart by the caller.
type Cgroups struct {
	tree  tree
	units *units
}

// tree is one version of the kernel's interface. Paths are absolute below the
// mount point; errors about a path that does not exist are ErrNotExist.
type tree interface {
	// confine writes cpus, and mems unless they are empty.
	confine(path string, cpus, mems cpuset.Set) error
	// effective returns what the kernel has in force.
	effective(path string) (cpus, mems cpuset.Set, err error)
	// unlimited reports whether there is certainly no CFS bandwidth limit.
	unlimited(path string) bool
	// liftQuota removes the CFS bandwidth limit.
	liftQuota(path string) error
	// empty reports whether no process is in the subtree.
	empty(path string) (bool, error)
	// dir returns the directory whose children are the cgroups below path.
	dir(path string) string
}

// New finds out which version of cgroups is mounted at the root. It fails when
// there is none with a cpuset controller.
func New(o Options) (*Cgroups, error) {
	if o.Root == "" {
		o.Root = "/sys/fs/cgroup"
	}
	t, err := detect(o.Root)
	if err != nil {
		return nil, err
	}
	return &Cgroups{tree: t, units: newUnits(o.Units)}, nil
}

func detect(root string) (tree, error) {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return unified{root}, nil
	}
	if _, err := os.Stat(filepath.Join(root, "cpuset")); err == nil {
		return legacy{root}, nil
	}
	return nil, fmt.Errorf("find cgroups in %s: neither cgroup.controllers (v2) nor cpuset/ (v1) is there; mount the host's /sys/fs/cgroup", root)
}

// Close ends the connection to systemd.
func (c *Cgroups) Close() { c.units.close() }

// Confine sets the CPUs of a container at once, and its memory nodes unless
// mems is empty, and checks that they are in force. A container without a cgroup
// is ErrNotExist. Child cgroups that the container made are confined with it.
//
// Under the systemd driver the container's unit must be told too, or the next
// daemon-reload reverts the write (systemd#40438): Confine notes that, and
// Settle does it. It costs two
// writes and two reads, of the order of 100 µs.
func (c *Cgroups) Confine(ctx context.Context, target string, cpus cpuset.Set, mems []topology.NodeID) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("confine %s: %w", target, err)
	}
	if cpus.Empty() {
		return fmt.Errorf("confine %s: refused the empty set of CPUs, which the kernel takes for all of them", target)
	}
	at, err := locate(target)
	if err != nil {
		return fmt.Errorf("confine %s: %w", target, err)
	}
	nodes := nodeSet(mems)
	before, _, _ := c.tree.effective(at.path)
	at, err = confine(c.tree, at, cpus, nodes)
	if err != nil {
		return fmt.Errorf("confine %s to CPUs %s: %w", target, cpus, gone(err))
	}
	if _, ok := c.tree.(unified); ok && at.unit != "" {
		if !before.Equal(cpus) {
			c.units.forget(at.unit)
		}
		c.units.note(at.unit, allowed(cpus, nodes))
	}
	return c.check(target, at, cpus, nodes)
}

// check compares what is in force with what was written: cgroup v2 takes any
// list and then intersects it with the parent's.
func (c *Cgroups) check(target string, at place, cpus, mems cpuset.Set) error {
	gotCPUs, gotMems, err := c.tree.effective(at.path)
	if err != nil {
		return fmt.Errorf("read back cpuset of %s: %w", target, gone(err))
	}
	if !gotCPUs.Equal(cpus) {
		return fmt.Errorf("confine %s to CPUs %s: in force are %s; a parent cgroup lacks the others, or they are offline", target, cpus, gotCPUs)
	}
	if !mems.Empty() && !gotMems.Equal(mems) {
		return fmt.Errorf("confine %s to memory of NUMA nodes %s: in force are %s; a parent cgroup lacks the others", target, mems, gotMems)
	}
	return nil
}

// Settle tells systemd everything that Confine and LiftQuota noted, and returns
// when systemd has it in force. Until then a daemon-reload may revert a write,
// and an older value that an interrupted Settle sent may still arrive; so a
// container must not start on CPUs taken from others before Settle returned nil.
// What fails stays noted for the next Settle. One call at a time is under way;
// without the systemd driver it costs nothing.
func (c *Cgroups) Settle(ctx context.Context) error { return c.units.settle(ctx) }

// Effective returns the CPUs and memory nodes that the kernel has in force.
func (c *Cgroups) Effective(target string) (cpuset.Set, []topology.NodeID, error) {
	at, err := locate(target)
	if err != nil {
		return cpuset.Set{}, nil, err
	}
	cpus, mems, err := c.tree.effective(at.path)
	if err != nil {
		return cpuset.Set{}, nil, fmt.Errorf("read cpuset of %s: %w", target, gone(err))
	}
	var nodes []topology.NodeID
	for m := range mems.All() {
		nodes = append(nodes, topology.NodeID(m))
	}
	return cpus, nodes, nil
}

// LiftQuota removes the CFS quota of a pod or a container, which would throttle
// even a container alone on its CPUs (kubernetes#70585). Settle makes it last.
func (c *Cgroups) LiftQuota(ctx context.Context, target string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lift quota of %s: %w", target, err)
	}
	at, err := locate(target)
	if err != nil {
		return fmt.Errorf("lift quota of %s: %w", target, err)
	}
	before := c.tree.unlimited(at.path)
	if err := c.tree.liftQuota(at.path); err != nil {
		return fmt.Errorf("lift quota of %s: %w", target, gone(err))
	}
	if at.unit != "" {
		if !before {
			c.units.forget(at.unit)
		}
		c.units.note(at.unit, noQuota())
	}
	return nil
}

// PodEmpty reports whether no process is left in a pod's cgroup and below; a
// pod without a cgroup is empty.
func (c *Cgroups) PodEmpty(target string) (bool, error) {
	at, err := locate(target)
	if err != nil {
		return false, err
	}
	empty, err := c.tree.empty(at.path)
	if err = gone(err); errors.Is(err, ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for processes of %s: %w", target, err)
	}
	return empty, nil
}

// gone turns the kernel's two ways of saying that a cgroup is not there into
// ErrNotExist: ENOENT, and ENODEV when it went while its file was open.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%w (%w)", ErrNotExist, err)
	}
	return err
}

// nodeSet is the list format of the kernel for memory nodes, as a set.
func nodeSet(mems []topology.NodeID) cpuset.Set {
	var ids []cpuset.CPU
	for _, m := range mems {
		ids = append(ids, cpuset.CPU(m))
	}
	return cpuset.Of(ids...)
}
