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

// ErrNotExist means that a container has no cgroup, because the container has not started yet or
// has ended.
var ErrNotExist = fmt.Errorf("container has no cgroup: %w", fs.ErrNotExist)

// Options are the options of New.
type Options struct {
	Root string // the mount point of the host's cgroups; "" means /sys/fs/cgroup
	// Units sets properties of systemd units. If Units is nil, the host's systemd is used, and
	// Cgroups connects to it over D-Bus at the first request.
	Units UnitSetter
}

// Cgroups is the host's cgroup tree. It is safe for concurrent use, but two calls that write the
// same container's cgroup must not run at the same time.
type Cgroups struct {
	tree       tree
	units      *units
	partitions partitions
}

// tree is the kernel's cgroup interface, in version 1 or 2. The paths of cgroups are relative to
// the mount point, and start with a slash. The error for a missing cgroup is fs.ErrNotExist or
// ENODEV (see asNotExist).
type tree interface {
	// confine sets the cgroup's CPUs to cpus. Unless mems is empty, it also sets the NUMA nodes of
	// the cgroup's memory to mems.
	confine(path string, cpus, mems cpuset.Set) error
	// effective returns the CPUs, and the NUMA nodes of memory, that the cgroup's processes can
	// really use.
	effective(path string) (cpus, mems cpuset.Set, err error)
	// unlimited reports whether the cgroup has no CFS bandwidth limit. It returns false if it cannot
	// read the limit.
	unlimited(path string) bool
	// liftQuota removes the CFS bandwidth limit of the cgroup.
	liftQuota(path string) error
	// empty reports whether the cgroup and all cgroups below it have no processes.
	empty(path string) (bool, error)
	// usage returns the CPU time that the cgroup has used on the given CPUs. cgroup v2 does not
	// count CPU time for each CPU, so for cgroup v2 the result is the CPU time on all CPUs.
	usage(path string, on cpuset.Set) (time.Duration, error)
	// dir returns the directory of the cgroup with the given path. In v1, this is the directory in
	// the cpuset hierarchy.
	dir(path string) string
}

// New detects which version of cgroups is mounted at Options.Root. It fails if Root has neither
// cgroup v2 nor the cpuset hierarchy of cgroup v1.
func New(o Options) (*Cgroups, error) {
	if o.Root == "" {
		o.Root = "/sys/fs/cgroup"
	}
	t, err := detect(o.Root)
	if err != nil {
		return nil, err
	}
	return &Cgroups{tree: t, units: newUnits(o.Units), partitions: partitions{mounted(o.Root)}}, nil
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

// Confine sets the CPUs of a container, and the NUMA nodes of its memory if `decision` has any. It
// then checks that the kernel uses what was set. Child cgroups that the container created are
// limited to the same CPUs. The error for a container without a cgroup is ErrNotExist. With cgroup
// v2, a call usually writes one or two files and reads four.
//
// If `decision` has a Partition, Confine makes the container's cgroup a cpuset partition with the
// CPUs of `decision`. The kernel must support partitions (see Partitions). If the kernel refuses
// the partition, the error wraps workload.ErrPartition, but the container is still limited to its
// CPUs.
//
// For a container with exclusive CPUs, Confine returns an error unless the container gets exactly
// the CPUs of `decision`. A container on shared CPUs may get only some of the CPUs of `decision`,
// if a parent cgroup lacks the others or if the others are offline. If it would get none of them,
// Confine returns an error.
//
// With cgroup v2 and the kubelet's systemd cgroup driver, the container's systemd unit must have the
// same CPUs as the cgroup. Otherwise the next daemon-reload reverts what Confine wrote
// (systemd#40438). Confine records the CPUs for the unit, and Persist later sends them to systemd.
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
	if decision.Partition != workload.NoPartition {
		if err := c.partitions.set(at.path, decision.CPUs, decision.Partition); err != nil {
			return fmt.Errorf("isolate %s: %w", target, asNotExist(err))
		}
	}
	return c.check(target, at, decision)
}

// confineOrParent writes the cpuset of a container's cgroup, and returns the cgroup that it wrote.
// If the kernel denies permission, confineOrParent writes the pod's cgroup instead. The kernel
// denies permission for one container, the agent's own. On a cgroup mount with the option
// nsdelegate, which systemd sets, a process cannot write the root of its own cgroup namespace. For
// the agent, this root is the cgroup of its container. The cpuset of the pod's cgroup limits the
// agent's container, too.
// Source: https://github.com/torvalds/linux/blob/v6.12/kernel/cgroup/cgroup.c, cgroup_file_write.
func confineOrParent(t tree, at location, cpus, mems cpuset.Set) (location, error) {
	err := t.confine(at.path, cpus, mems)
	if errors.Is(err, fs.ErrPermission) {
		at = at.parent()
		err = t.confine(at.path, cpus, mems)
	}
	return at, err
}

// check compares the effective cpuset of a cgroup with the cpuset that was written to it. The two
// can differ, because cgroup v2 accepts any list of CPUs and intersects it with the parent's
// cpuset. If the intersection is empty, the cgroup gets the parent's cpuset.
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

// Persist sends systemd everything that Confine and LiftQuota recorded, and returns when systemd
// has applied it. Until Persist has returned nil, a daemon-reload may revert what Confine wrote,
// and systemd may still apply an older value that an interrupted call of Persist sent. So until
// then, no container may start on CPUs that were taken from other containers. After a failure, the
// next call of Persist sends again what failed. Concurrent calls run one after another. If systemd does
// not answer, Persist returns only at the deadline of ctx, so ctx must have one. If the kubelet uses the
// cgroupfs driver, Persist sends nothing.
func (c *Cgroups) Persist(ctx context.Context) error { return c.units.persist(ctx) }

// PersistLater requests a call of Retry, through the channel Due. It does not wait for systemd.
func (c *Cgroups) PersistLater() { c.units.persistLater() }

// Due returns a channel that has a value after each call of PersistLater, and after a call of Retry
// that left some requests pending. Whoever receives the value must call Retry.
func (c *Cgroups) Due() <-chan struct{} { return c.units.soon }

// Retry does what Persist does, but sends only some of the requests if many are pending. If
// requests are left, it requests its next call through Due, as PersistLater does. If Ready returns
// an error, Retry calls systemd even if there is nothing to send, to find out whether systemd
// answers now. If systemd does not manage the pods' cgroups, Retry calls it only if there is something
// to send.
func (c *Cgroups) Retry(ctx context.Context) error {
	if !c.underSystemd() && !c.units.isPending() {
		return nil
	}
	return c.units.retry(ctx)
}

// Ready returns nil if the last call of Persist or Retry that called systemd succeeded. It also
// returns nil if systemd answered some requests of that call before the call's deadline passed, or
// if systemd does not manage the pods' cgroups. Otherwise it returns the error of that call, or an
// error which says that systemd has not answered yet. A call does not count if it had too little
// time before its deadline to get an answer (see answerTime). While systemd does not answer, no
// container can get new exclusive CPUs.
func (c *Cgroups) Ready() error {
	if !c.underSystemd() {
		return nil
	}
	return c.units.ready()
}

// underSystemd reports whether the kubelet uses the systemd cgroup driver.
func (c *Cgroups) underSystemd() bool {
	return slices.ContainsFunc(c.podParents(), isUnitName)
}

// KubeletCPUs returns the CPUs that containers of pods can use, and the path of the kubelet's root
// cgroup. Containers can use the effective CPUs of this cgroup, and the CPUs that the partitions of
// containers have taken from it. The error is fs.ErrNotExist if the kubelet has no root cgroup, or
// if its root cgroup has no cpuset.
func (c *Cgroups) KubeletCPUs() (cpuset.Set, string, error) {
	for _, root := range kubeRoots() {
		cpus, _, err := c.tree.effective(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		taken, takenErr := c.partitions.exclusive(root)
		if errors.Is(takenErr, fs.ErrNotExist) { // cgroup v1, or Linux before 6.7
			takenErr = nil
		}
		return cpus.Union(taken), root, errors.Join(err, takenErr)
	}
	return cpuset.Set{}, "", fmt.Errorf("find the cpuset of the kubelet's cgroup: %w", fs.ErrNotExist)
}

// Effective returns the CPUs, and the NUMA nodes of memory, that a container can really use
// according to the kernel.
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

// Configured returns the CPUs that are set for the cgroup of a container. The kernel may let the
// container use only some of them (see Effective). With cgroup v2, the result is empty if no CPUs are
// set: the container then has all CPUs of its parent cgroup.
func (c *Cgroups) Configured(target string) (cpuset.Set, error) {
	at, err := locate(target)
	if err != nil {
		return cpuset.Set{}, err
	}
	cpus, err := readList(c.tree.dir(at.path), "cpuset.cpus")
	if err != nil {
		return cpuset.Set{}, fmt.Errorf("read cpuset of %s: %w", target, asNotExist(err))
	}
	return cpus, nil
}

// LiftQuota removes the CFS quota of a pod or a container. With a quota, the kernel would throttle
// even a container that has exclusive CPUs (kubernetes#70585). The caller must also call Persist.
// Otherwise a daemon-reload of systemd would restore the quota.
func (c *Cgroups) LiftQuota(ctx context.Context, target string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lift quota of %s: %w", target, err)
	}
	at, err := locate(target)
	if err != nil {
		return fmt.Errorf("lift quota of %s: %w", target, err)
	}
	if !c.tree.unlimited(at.path) {
		if err := c.tree.liftQuota(at.path); err != nil {
			return fmt.Errorf("lift quota of %s: %w", target, asNotExist(err))
		}
		c.units.invalidate(at.unit)
	}
	if at.unit != "" {
		c.units.require(at.unit, noQuota())
	}
	return nil
}

// PodEmpty reports whether a pod's cgroup and the cgroups below it have no processes. For a pod
// without a cgroup, it returns true.
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

// PodExists reports whether a pod has a cgroup. The kubelet removes the cgroup after the pod has ended.
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

// asNotExist translates the kernel's two errors for a missing cgroup into ErrNotExist. They are
// ENOENT and ENODEV. The kernel returns ENODEV if the cgroup was removed while one of its files was
// open, and otherwise ENOENT.
func asNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%w (%w)", ErrNotExist, err)
	}
	return err
}

// nodeSet returns NUMA nodes as a cpuset.Set, because the method String of that type returns the
// kernel's list format.
func nodeSet(mems []topology.NodeID) cpuset.Set {
	var ids []cpuset.CPU
	for _, m := range mems {
		ids = append(ids, cpuset.CPU(m))
	}
	return cpuset.Of(ids...)
}
