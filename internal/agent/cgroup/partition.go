package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// These files of a cgroup are for cpuset partitions. In the cgroup of a partition,
// exclusiveFile has the partition's CPUs, and partitionFile has the type of the partition. In a
// cgroup above partitions, exclusiveFile has the CPUs that these partitions may have.
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset.
const (
	exclusiveFile = "cpuset.cpus.exclusive"
	partitionFile = "cpuset.cpus.partition"
)

// The type `partitions` turns the cgroups of containers into cpuset partitions. When a container's
// partition has ended, the type removes the container's CPUs from cpuset.cpus.exclusive of the
// cgroups above. It keeps no state, because the files of the containers' cgroups show which CPUs
// each cgroup above them must have in cpuset.cpus.exclusive. So a new agent process continues where
// a killed one ended.
//
// The partitions are remote partitions, because the cgroups above a container are no partitions.
// The kernel takes the CPUs of a remote partition from the root cgroup, and so from all other
// cgroups. It lets only a process with CAP_SYS_ADMIN make or enlarge such a partition
// (remote_partition_enable and remote_cpus_update in
// https://github.com/torvalds/linux/blob/v6.12/kernel/cgroup/cpuset.c). A partition ends when its
// cgroup is removed.
type partitions struct{ files groupFiles }

// groupFiles reads and writes the files of cgroup v2. Paths of cgroups are relative to the mount
// point.
type groupFiles interface {
	read(group, file string) (string, error)
	write(group, file, text string) error
	children(group string) ([]string, error) // the names of the cgroups directly below
}

// supported reports whether the kernel can make remote partitions, which it can since Linux 6.7. A
// kernel that can do so has the file cpuset.cpus.exclusive in every cgroup with a cpuset, except in
// the root cgroup. So the method looks for the file in the cgroups below the root cgroup.
func (p partitions) supported() bool {
	names, err := p.files.children("/")
	for _, name := range names {
		if _, readErr := p.files.read(path.Join("/", name), exclusiveFile); err == nil && readErr == nil {
			return true
		}
	}
	return false
}

// set turns a container's cgroup into a partition of the type given as `want`, with exactly the
// given CPUs. If the cgroup already is that partition, the method writes nothing, so that the
// processes in it notice nothing. The error wraps workload.ErrPartition, and has the kernel's
// reason.
func (p partitions) set(group string, cpus cpuset.Set, want workload.Partition) error {
	err := p.trySet(group, cpus, want)
	if err == nil || errors.Is(asNotExist(err), ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w of type %s for CPUs %s: %w", workload.ErrPartition, want, cpus, err)
}

func (p partitions) trySet(group string, cpus cpuset.Set, want workload.Partition) error {
	has, err := p.exclusive(group)
	if err != nil {
		return err
	}
	if is, err := p.is(group, want); err != nil || is && has.Equal(cpus) {
		return err
	}
	if err := p.allow(ancestors(group), cpus); err != nil {
		return err
	}
	if err := p.setExclusive(group, has, cpus); err != nil {
		return err
	}
	return p.become(group, want)
}

// allow adds CPUs to cpuset.cpus.exclusive of the cgroups above a container. Before that, it calls
// tidy for the topmost of these cgroups. tidy removes the CPUs of ended containers from this cgroup
// and from all cgroups below it, including those of other pods. The cgroup of another pod may still
// have CPUs of a container that has ended, and the kernel lets no two siblings have the same CPU in
// this file.
func (p partitions) allow(above []string, cpus cpuset.Set) error {
	if err := p.tidy(above[0]); err != nil {
		return err
	}
	for _, parent := range above {
		has, err := p.exclusive(parent)
		if err != nil {
			return err
		}
		if err := p.setExclusive(parent, has, has.Union(cpus)); err != nil {
			return err
		}
	}
	return nil
}

// become writes the type of a partition to cpuset.cpus.partition, and checks that the kernel has
// accepted it. If the kernel refuses the partition, the write still succeeds, but the file then has
// a text such as "isolated invalid (Cpu list in cpuset.cpus not exclusive)".
func (p partitions) become(group string, want workload.Partition) error {
	if is, err := p.is(group, want); err != nil || is {
		return err
	}
	if err := p.files.write(group, partitionFile, string(want)); err != nil {
		return err
	}
	if is, err := p.is(group, want); err != nil || is {
		return err
	}
	now, err := p.files.read(group, partitionFile)
	return errors.Join(fmt.Errorf("%s is %q", partitionFile, strings.TrimSpace(now)), err)
}

func (p partitions) is(group string, want workload.Partition) (bool, error) {
	now, err := p.files.read(group, partitionFile)
	return strings.TrimSpace(now) == string(want), err
}

// tidy corrects cpuset.cpus.exclusive of a cgroup above containers, and of the cgroups between it
// and the containers. It removes the CPUs that no container's partition has any more.
//
// tidy leaves a CPU in these files until the kernel has returned the CPU to the root cgroup. Until
// then, a partition may have the CPU although the partition's cgroup has been removed. If tidy
// removed the CPU from cpuset.cpus.exclusive of an ancestor earlier, some kernels would never
// return the CPU: remote_partition_disable of Linux 6.12 computes from the ancestors which CPUs to
// return.
func (p partitions) tidy(group string) error {
	has, err := p.exclusive(group)
	if err != nil || has.Empty() { // no partition can be below a cgroup without exclusive CPUs
		return err
	}
	names, err := p.files.children(group)
	if err != nil {
		return err
	}
	var needed cpuset.Set
	for _, name := range names {
		child := path.Join(group, name)
		if err := p.tidyChild(child); err != nil && !errors.Is(asNotExist(err), ErrNotExist) {
			return err
		}
		cpus, err := p.exclusive(child)
		if err != nil && !errors.Is(asNotExist(err), ErrNotExist) {
			return err
		}
		needed = needed.Union(cpus)
	}
	if has.SubsetOf(needed) {
		return nil
	}
	returned, err := p.list("/", "cpuset.cpus.effective")
	if err != nil {
		return err
	}
	return p.setExclusive(group, has, needed.Union(has.Minus(returned)))
}

// tidyChild does the work of tidy for one child of a cgroup above containers. If the child is the
// cgroup of a container whose processes have ended, tidyChild makes it an ordinary cgroup without
// exclusive CPUs, so that other cgroups can use these CPUs. The container runtime may remove the
// cgroup much later.
func (p partitions) tidyChild(group string) error {
	if _, container := containerID(path.Base(group)); !container {
		return p.tidy(group)
	}
	has, err := p.exclusive(group)
	if err != nil || has.Empty() {
		return err
	}
	events, err := p.files.read(group, "cgroup.events")
	if err != nil || !strings.Contains(events, "populated 0") {
		return err
	}
	if err := p.files.write(group, partitionFile, "member"); err != nil {
		return err
	}
	return p.setExclusive(group, has, cpuset.Set{})
}

// exclusive returns the CPUs in cpuset.cpus.exclusive of a cgroup. The error is fs.ErrNotExist if
// the cgroup has no such file.
func (p partitions) exclusive(group string) (cpuset.Set, error) {
	return p.list(group, exclusiveFile)
}

func (p partitions) list(group, file string) (cpuset.Set, error) {
	text, err := p.files.read(group, file)
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(text)
}

// setExclusive writes cpuset.cpus.exclusive of a cgroup, unless the file has the CPUs already. The
// kernel reads an empty line as the empty set.
func (p partitions) setExclusive(group string, has, want cpuset.Set) error {
	if has.Equal(want) {
		return nil
	}
	if err := p.files.write(group, exclusiveFile, want.String()+"\n"); err != nil {
		return fmt.Errorf("%s %s of %s: %w", exclusiveFile, want, group, err)
	}
	return nil
}

// ancestors returns the cgroups above a container's cgroup, without the root cgroup. The topmost
// cgroup comes first.
func ancestors(group string) []string {
	above := []string{path.Dir(group)}
	for up := path.Dir(above[0]); up != "/"; up = path.Dir(up) {
		above = append([]string{up}, above...)
	}
	return above
}

// mounted is the cgroup v2 tree that is mounted at a directory.
type mounted string

func (m mounted) read(group, file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(m), group, file))
	return string(text), err
}

func (m mounted) write(group, file, text string) error {
	return write(filepath.Join(string(m), group, file), text)
}

func (m mounted) children(group string) ([]string, error) {
	dirs, err := subdirs(filepath.Join(string(m), group))
	for i, dir := range dirs {
		dirs[i] = filepath.Base(dir)
	}
	return dirs, err
}

// Partitions reports whether the kernel can make a container's cgroup a cpuset partition. Confine
// makes it a partition if the parameter `decision` has a Partition. Partitions of containers need
// cgroup v2 and Linux 6.7 or later.
func (c *Cgroups) Partitions() bool { return c.partitions.supported() }

// CheckPartitions returns an error if the kernel can make partitions, but does not let this process
// make them.
func (c *Cgroups) CheckPartitions() error {
	if !c.Partitions() {
		return nil
	}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0]); err != nil {
		return fmt.Errorf("read the capabilities of the agent: %w", err)
	}
	if caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return errors.New("the agent lacks the capability SYS_ADMIN, without which the kernel makes no cpuset partitions; apply deploy/isolation, which adds it")
	}
	return nil
}

// TidyPartitions ends the partitions of containers whose processes have ended. It removes the CPUs
// of ended partitions from the settings of the cgroups above containers, so that other containers
// can have partitions with these CPUs.
func (c *Cgroups) TidyPartitions() error {
	for _, root := range kubeRoots() {
		if err := c.partitions.tidy(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove CPUs of ended partitions: %w", err)
		}
	}
	return nil
}
