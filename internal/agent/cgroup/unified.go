package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/cgroups/v3/cgroup2"

	"github.com/numalet/numalet/pkg/cpuset"
)

// unified is the cgroup tree of cgroup v2.
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset.
type unified struct{ root string }

// confine sets the CPUs of the cgroup at path, and the NUMA nodes of its memory. It does not write
// child cgroups, because the kernel intersects their cpusets with that of the parent.
func (u unified) confine(path string, cpus, mems cpuset.Set) error {
	err := u.update(path, cpus, mems)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, statErr := os.Stat(u.dir(path)); statErr != nil {
		return statErr
	}
	if err := u.enable(path); err != nil {
		return err
	}
	return u.update(path, cpus, mems)
}

// enable enables the cpuset controller in every ancestor of the cgroup at path. systemd disables the
// controller in a cgroup if no unit below that cgroup needs it (kubernetes#122955).
func (u unified) enable(path string) error {
	group, err := cgroup2.Load(path, cgroup2.WithMountpoint(u.root))
	if err != nil {
		return err
	}
	if err := group.ToggleControllers([]string{"cpuset"}, cgroup2.Enable); err != nil {
		return fmt.Errorf("enable the cpuset controller: %w", err)
	}
	return nil
}

// update writes the CPUs of a cgroup and, unless mems is empty, the NUMA nodes of its memory. It
// does not use the method Update of containerd/cgroups, which opens the files with O_CREAT. With
// O_CREAT, the error for a missing file is EACCES instead of ENOENT. The method `confine` could
// then not tell a cgroup without the cpuset controller from a cgroup that this process has no
// permission to write.
func (u unified) update(path string, cpus, mems cpuset.Set) error {
	if err := overwrite(u.dir(path), "cpuset.cpus", cpus); err != nil || mems.Empty() {
		return err
	}
	return overwrite(u.dir(path), "cpuset.mems", mems)
}

func (u unified) effective(path string) (cpus, mems cpuset.Set, err error) {
	if cpus, err = readList(u.dir(path), "cpuset.cpus.effective"); err != nil {
		return cpus, mems, err
	}
	mems, err = readList(u.dir(path), "cpuset.mems.effective")
	return cpus, mems, err
}

func (u unified) unlimited(path string) bool {
	text, err := os.ReadFile(filepath.Join(u.dir(path), "cpu.max"))
	return err == nil && strings.HasPrefix(string(text), "max")
}

func (u unified) liftQuota(path string) error {
	return write(filepath.Join(u.dir(path), "cpu.max"), "max")
}

// empty reports whether the cgroup has no processes. It reads only cgroup.events, whose line
// "populated" covers the cgroup and all cgroups below it.
func (u unified) empty(path string) (bool, error) {
	events, err := os.ReadFile(filepath.Join(u.dir(path), "cgroup.events"))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(events)) {
		if value, ok := strings.CutPrefix(line, "populated "); ok {
			return strings.TrimSpace(value) == "0", nil
		}
	}
	return false, fmt.Errorf("parse cgroup.events %q: the line \"populated\" is missing", events)
}

func (u unified) dir(path string) string { return filepath.Join(u.root, path) }

// readList reads a file with a set in the kernel's list format, such as "0-3,8".
func readList(dir, file string) (cpuset.Set, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(string(text))
}
