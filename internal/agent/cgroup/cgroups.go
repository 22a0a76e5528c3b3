package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// ErrNotExist means that a container has no cgroup: it has not started yet, or
// it has ended.
var ErrNotExist = fmt.Errorf("container has no cgroup: %w", fs.ErrNotExist)

// Options of New.
type Options struct {
	Root string // the mount point of the host's cgroups; "" is /sys/fs/cgroup
	// Units sets properties of systemd units. nil is the host's systemd over
	// D-Bus, connected at the first request.
	Units UnitSetter
}

// Cgroups is the host's cgroup tree. It is safe for concurrent use, but the
// caller must serialize the writes to one container.
type Cgroups struct {
	tree  tree
	units *units
}

// tree is one version of the kernel's interface. Paths are relative to the mount
// point and start with a slash. The error for a missing path is fs.ErrNotExist.
type tree interface {
	// confine writes cpus, and mems unless they are empty.
	confine(path string, cpus, mems cpuset.Set) error
	// effective returns the CPUs and memory nodes that the kernel has in force.
	effective(path string) (cpus, mems cpuset.Set, err error)
	// unlimited reports whether there is no CFS bandwidth limit; false if unknown.
	unlimited(path string) bool
	// liftQuota removes the CFS bandwidth limit.
	liftQuota(path string) error
	// empty reports whether the subtree has no processes.
	empty(path string) (bool, error)
	// usage returns the CPU time used on some CPUs, or on all CPUs if the kernel does not count it
	// by CPU.
	usage(path string, on cpuset.Set) (time.Duration, error)
	// dir returns the directory whose children are the cgroups below path.
	dir(path string) string
}

// New detects which version of cgroups is mounted at the root. It fails when
// neither version has a cpuset controller there.
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
	return nil, fmt.Errorf("find cgroups in %s: it has neither cgroup.controllers (v2) nor cpuset/ (v1); mount the host's /sys/fs/cgroup", root)
}

// Close closes the connection to systemd.
func (c *Cgroups) Close() { c.units.close() }

// Confine sets the CPUs of a container, and its memory nodes unless there are none, and
// checks that they are in force. Child cgroups that the container created are confined
// with it. The error for a container without a cgroup is ErrNotExist. The cost is two
// writes and two reads, about 100 µs.
//
// An exclusive container gets exactly these CPUs, or an error. Any other container gets at most
// these CPUs: those that a parent cgroup lacks or that went offline are left out.
//
// Under the systemd driver the container's unit must have the same CPUs, or the
// next daemon-reload reverts the write (systemd#40438). Confine only records
// that; Persist sends it.
func (c *Cgroups) Confine(ctx context.Context, target string, decision workload.Decision) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("confine %s: %w", target, err)
	}
	if decision.CPUs.Empty() {
		return fmt.Errorf("confine %s: the set of CPUs is empty, which the kernel reads as all CPUs of the parent", target)
	}
	at, err := locate(target)
	if err != nil {
		return fmt.Errorf("confine %s: %w", target, err)
	}
	nodes := nodeSet(decision.Mems)
	before, _, _ := c.tree.effective(at.path)
	at, err = confineOrParent(c.tree, at, decision.CPUs, nodes)
	if err != nil {
		return fmt.Errorf("confine %s to CPUs %s: %w", target, decision.CPUs, asNotExist(err))
	}
	if _, ok := c.tree.(unified); ok && at.unit != "" {
		if !before.Equal(decision.CPUs) {
			c.units.invalidate(at.unit)
		}
		c.units.require(at.unit, allowed(decision.CPUs, nodes))
	}
	return c.check(target, at, decision)
}

// confineOrParent writes a container's cgroup, or its pod's where the kernel denies
// permission, and returns the location that it wrote. The kernel denies it for
// one cgroup: where cgroups are mounted with nsdelegate, as systemd does it, a
// process cannot write the root of its own cgroup namespace, which is the
// container of the agent. The pod's cgroup confines that container just as well.
// Source: https://github.com/torvalds/linux/blob/v6.12/kernel/cgroup/cgroup.c, cgroup_file_write.
func confineOrParent(t tree, at location, cpus, mems cpuset.Set) (location, error) {
	err := t.confine(at.path, cpus, mems)
	if errors.Is(err, fs.ErrPermission) {
		at = at.parent()
		err = t.confine(at.path, cpus, mems)
	}
	return at, err
}

// check compares the cpuset in force with the one that was written: cgroup v2 accepts any list and
// then intersects it with the parent's, or inherits that if nothing is left.
func (c *Cgroups) check(target string, at location, decision workload.Decision) error {
	cpus, mems, err := c.tree.effective(at.path)
	if err != nil {
		return fmt.Errorf("read back cpuset of %s: %w", target, asNotExist(err))
	}
	if !cpus.Equal(decision.CPUs) && (decision.Exclusive || cpus.Empty() || !cpus.SubsetOf(decision.CPUs)) {
		return fmt.Errorf("confine %s to CPUs %s: the kernel has CPUs %s in force; a parent cgroup lacks the others, or they are offline; restart the kubelet, which sets its cgroup at its start",
			target, decision.CPUs, cpus)
	}
	if want := nodeSet(decision.Mems); !want.Empty() && !mems.Equal(want) {
		return fmt.Errorf("confine %s to the memory of NUMA nodes %s: the kernel has %s in force; a parent cgroup lacks the others", target, want, mems)
	}
	return nil
}

// Persist sends systemd everything that Confine and LiftQuota recorded, and
// returns when systemd has it in force. Until then a daemon-reload may revert a
// write, and an older value from an interrupted Persist may still arrive. So a
// container must not start on CPUs that were taken from others before Persist has
// returned nil. What fails is sent again by the next Persist. Concurrent calls run
// one after another; without the systemd driver a call costs nothing.
func (c *Cgroups) Persist(ctx context.Context) error { return c.units.persist(ctx) }

// Retry sends what an earlier Persist could not send. If systemd has not answered since
// the start or since a failure, Retry also waits for an answer. Otherwise, and where
// systemd does not manage the pods' cgroups, it does nothing.
func (c *Cgroups) Retry(ctx context.Context) error {
	if !c.underSystemd() {
		return nil
	}
	return c.units.retry(ctx)
}

// Ready returns nil if systemd answered the last call or does not manage the pods'
// cgroups, else the reason. Without systemd no exclusive container can start.
func (c *Cgroups) Ready() error {
	if !c.underSystemd() {
		return nil
	}
	return c.units.ready()
}

// underSystemd reports whether the kubelet uses the systemd driver.
func (c *Cgroups) underSystemd() bool {
	return slices.ContainsFunc(c.podParents(), isUnitName)
}

// KubeletCPUs returns the CPUs that the kubelet's root cgroup has in force, which no
// container can exceed, and its path. The error is fs.ErrNotExist if there is none, or
// none with a cpuset.
func (c *Cgroups) KubeletCPUs() (cpuset.Set, string, error) {
	for _, root := range kubeRoots() {
		cpus, _, err := c.tree.effective(root)
		if !errors.Is(err, fs.ErrNotExist) {
			return cpus, root, err
		}
	}
	return cpuset.Set{}, "", fmt.Errorf("find the cpuset of the kubelet's cgroup: %w", fs.ErrNotExist)
}

// Effective returns the CPUs and memory nodes that the kernel has in force.
func (c *Cgroups) Effective(target string) (cpuset.Set, []topology.NodeID, error) {
	at, err := locate(target)
	if err != nil {
		return cpuset.Set{}, nil, err
	}
	cpus, mems, err := c.tree.effective(at.path)
	if err != nil {
		return cpuset.Set{}, nil, fmt.Errorf("read cpuset of %s: %w", target, asNotExist(err))
	}
	var nodes []topology.NodeID
	for m := range mems.All() {
		nodes = append(nodes, topology.NodeID(m))
	}
	return cpus, nodes, nil
}

// LiftQuota removes the CFS quota of a pod or a container, which would throttle
// even a container alone on its CPUs (kubernetes#70585). Persist makes the change
// survive a daemon-reload.
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
		return fmt.Errorf("lift quota of %s: %w", target, asNotExist(err))
	}
	if at.unit != "" {
		if !before {
			c.units.invalidate(at.unit)
		}
		c.units.require(at.unit, noQuota())
	}
	return nil
}

// PodEmpty reports whether a pod's cgroup and those below it have no processes.
// A pod without a cgroup is empty.
func (c *Cgroups) PodEmpty(target string) (bool, error) {
	at, err := locate(target)
	if err != nil {
		return false, err
	}
	empty, err := c.tree.empty(at.path)
	if err = asNotExist(err); errors.Is(err, ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("find processes of %s: %w", target, err)
	}
	return empty, nil
}

// PodExists reports whether a pod has a cgroup. The kubelet removes it after the pod has
// ended.
func (c *Cgroups) PodExists(target string) (bool, error) {
	at, err := locate(target)
	if err != nil {
		return false, err
	}
	if _, err = os.Stat(c.tree.dir(at.path)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// asNotExist translates the kernel's two errors for a missing cgroup into
// ErrNotExist: ENOENT, and ENODEV when it was removed while its file was open.
func asNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%w (%w)", ErrNotExist, err)
	}
	return err
}

// nodeSet returns memory nodes as a set, which prints as the kernel's list format.
func nodeSet(mems []topology.NodeID) cpuset.Set {
	var ids []cpuset.CPU
	for _, m := range mems {
		ids = append(ids, cpuset.CPU(m))
	}
	return cpuset.Of(ids...)
}
