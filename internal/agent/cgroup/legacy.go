package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
)

// legacy is the cgroup tree of cgroup v1, which has one mount per controller.
//
// legacy writes the cgroup files itself. It does not use the cpuset controller of containerd/cgroups
// (cgroup1.NewCpuset), because its method Update creates a cgroup that is missing. If a container
// ended just before the write of its cpuset, an empty cgroup would remain.
// Source: https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html.
type legacy struct{ root string }

// confine sets the CPUs of the cgroup with the given path, and the NUMA nodes of its memory. It
// leaves out CPUs that the parent cgroup lacks, because in v1 the kernel accepts only CPUs of the
// parent.
func (l legacy) confine(path string, cpus, mems cpuset.Set) error {
	parent, err := readList(filepath.Dir(l.dir(path)), "cpuset.cpus")
	if err != nil {
		return err
	}
	if cpus = cpus.Intersect(parent); cpus.Empty() {
		return fmt.Errorf("the parent cgroup has only CPUs %s; restart the kubelet, which sets its cgroup at its start", parent)
	}
	if err := resize(l.dir(path), "cpuset.cpus", cpus); err != nil || mems.Empty() {
		return err
	}
	return resize(l.dir(path), "cpuset.mems", mems)
}

// resize sets the cpuset of a cgroup and of its child cgroups. In v1, the cpuset of a child must be
// a subset of its parent's cpuset at every moment. So the function adds CPUs to the parent before
// it adds them to the children, and removes CPUs from the children before it removes them from the
// parent. A child that had all CPUs of its parent gets the whole new set. A child that had fewer
// CPUs keeps those of its CPUs that are in the new set. If none of its CPUs is in the new set, the
// child gets the whole new set.
func resize(dir, file string, want cpuset.Set) error {
	old, err := readList(dir, file)
	if err != nil {
		return err
	}
	children, err := subdirs(dir)
	if err != nil {
		return err
	}
	if len(children) > 0 && !want.SubsetOf(old) {
		if err := overwrite(dir, file, old.Union(want)); err != nil {
			return err
		}
	}
	for _, child := range children {
		if err := resizeChild(child, file, old, want); err != nil && !errors.Is(asNotExist(err), ErrNotExist) {
			return err
		}
	}
	return overwrite(dir, file, want)
}

// resizeChild resizes a child cgroup whose parent's cpuset changes from the set `old` to the set
// `want`.
func resizeChild(dir, file string, old, want cpuset.Set) error {
	has, err := readList(dir, file)
	if err != nil {
		return err
	}
	left := has.Intersect(want)
	if left.Empty() || old.SubsetOf(has) {
		left = want
	}
	return resize(dir, file, left)
}

func (l legacy) effective(path string) (cpus, mems cpuset.Set, err error) {
	if cpus, err = readList(l.dir(path), "cpuset.effective_cpus"); err != nil {
		return cpus, mems, err
	}
	mems, err = readList(l.dir(path), "cpuset.effective_mems")
	return cpus, mems, err
}

func (l legacy) unlimited(path string) bool {
	text, err := os.ReadFile(l.quota(path))
	return err == nil && strings.HasPrefix(string(text), "-1")
}

func (l legacy) liftQuota(path string) error { return write(l.quota(path), "-1") }

func (l legacy) quota(path string) string {
	return filepath.Join(l.root, "cpu", path, "cpu.cfs_quota_us")
}

// empty reports whether the cgroup has no processes. It reads cgroup.procs of the cgroup and of all
// cgroups below it.
func (l legacy) empty(path string) (bool, error) { return noProcess(l.dir(path)) }

func noProcess(dir string) (bool, error) {
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil || len(bytes.TrimSpace(procs)) > 0 {
		return false, err
	}
	children, err := subdirs(dir)
	if err != nil {
		return false, err
	}
	for _, child := range children {
		empty, err := noProcess(child)
		if errors.Is(asNotExist(err), ErrNotExist) {
			continue
		}
		if err != nil || !empty {
			return false, err
		}
	}
	return true, nil
}

func (l legacy) dir(path string) string { return filepath.Join(l.root, "cpuset", path) }

func subdirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs, nil
}

func overwrite(dir, file string, set cpuset.Set) error {
	return write(filepath.Join(dir, file), set.String())
}

// write overwrites an existing file. It never creates a file.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
