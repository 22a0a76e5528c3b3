package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// private creates a cgroup on the host for one test. At the end of the test it removes this cgroup and
// all cgroups below it.
func private(t testing.TB) (*Cgroups, string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to make cgroups")
	}
	c, err := New(Options{})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(c.Close)
	group := fmt.Sprintf("/numalet-test-%d", os.Getpid())
	for _, dir := range dirs(c, group) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("cgroups are read-only here: %v", err)
		}
		t.Cleanup(func() { removeAll(t, dir) })
	}
	inherit(t, c, group)
	return c, group
}

// dirs returns the directories of a cgroup. In v1, a cgroup has one directory in the cpuset
// hierarchy and one in the cpu hierarchy. In v2, it has only one directory.
func dirs(c *Cgroups, group string) []string {
	if l, ok := c.tree.(legacy); ok {
		return []string{l.dir(group), filepath.Join(l.root, "cpu", group)}
	}
	return []string{c.tree.dir(group)}
}

// inherit gives a new cgroup the cpuset of its parent. In v1, inherit copies the cpuset of the
// parent, because a new cgroup has an empty cpuset. In v2, inherit enables the cpuset controller,
// which may be disabled.
func inherit(t testing.TB, c *Cgroups, group string) {
	t.Helper()
	if u, ok := c.tree.(unified); ok {
		if err := u.enable(group); err != nil {
			t.Fatal(err)
		}
		if err := write(filepath.Join(u.dir(filepath.Dir(group)), "cgroup.subtree_control"), "+cpu"); err != nil {
			t.Logf("no cpu controller: %v", err)
		}
		return
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		all := read(t, c.tree.dir(filepath.Dir(group)), file)
		if err := write(filepath.Join(c.tree.dir(group), file), all); err != nil {
			t.Fatal(err)
		}
	}
}

func child(t *testing.T, c *Cgroups, group, name string) string {
	t.Helper()
	path := filepath.Join(group, name)
	if err := os.Mkdir(c.tree.dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	inherit(t, c, path)
	return path
}

// removeAll removes a cgroup and all cgroups below it. It retries, because a killed process stays
// in its cgroup for a moment.
func removeAll(t testing.TB, dir string) {
	children, _ := subdirs(dir)
	for _, child := range children {
		removeAll(t, child)
	}
	for range 100 {
		if err := os.Remove(dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("left behind: %s", dir)
}

// TestRealConfine checks that Confine limits a cgroup and its child cgroup to some CPUs, and then
// gives them all CPUs again. It runs on the host's own kernel, with cgroup v1 or v2.
func TestRealConfine(t *testing.T) {
	cgroup, group := private(t)
	all, _, err := cgroup.Effective(group)
	if err != nil || all.Len() < 2 {
		t.Skipf("needs two CPUs, has %v (%v)", all, err)
	}
	inner := child(t, cgroup, group, "inner")
	first, _ := all.First()
	for _, want := range []cpuset.Set{cpuset.Of(first), all.Minus(cpuset.Of(first)), all} {
		if err := cgroup.Confine(t.Context(), group, exactly(want)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{group, inner} {
			if got, _, err := cgroup.Effective(path); err != nil || !got.Equal(want) {
				t.Errorf("CPUs of %s = %v, %v; want %v", path, got, err, want)
			}
		}
	}
	if err := cgroup.Confine(t.Context(), group, exactly(cpuset.Of(cpuset.MaxCPU))); err == nil {
		t.Error("Confine to a CPU that does not exist succeeded")
	}
}

func TestRealNarrowChildStaysNarrow(t *testing.T) {
	cgroup, group := private(t)
	all, _, err := cgroup.Effective(group)
	if err != nil || all.Len() < 2 {
		t.Skipf("needs two CPUs, has %v (%v)", all, err)
	}
	first, _ := all.First()
	one := cpuset.Of(first)
	inner := child(t, cgroup, group, "inner")
	if err := cgroup.Confine(t.Context(), inner, exactly(one)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ outer, inner cpuset.Set }{
		{all, one},
		{one, one},
	} {
		if err := cgroup.Confine(t.Context(), group, exactly(step.outer)); err != nil {
			t.Fatal(err)
		}
		if got, _, err := cgroup.Effective(inner); err != nil || !got.Equal(step.inner) {
			t.Errorf("with %v around it the child has %v, %v; want %v", step.outer, got, err, step.inner)
		}
	}
}

func TestRealPodEmpty(t *testing.T) {
	cgroup, group := private(t)
	inner := child(t, cgroup, group, "inner")
	if empty, err := cgroup.PodEmpty(group); err != nil || !empty {
		t.Fatalf("PodEmpty of a new cgroup = %v, %v", empty, err)
	}
	sleep := exec.CommandContext(t.Context(), "sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	if err := write(filepath.Join(cgroup.tree.dir(inner), "cgroup.procs"), fmt.Sprint(sleep.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if empty, err := cgroup.PodEmpty(group); err != nil || empty {
		t.Errorf("PodEmpty with a process below = %v, %v", empty, err)
	}
}

func TestRealLiftQuota(t *testing.T) {
	cgroup, group := private(t)
	file, limited, lifted := quotaFile(cgroup, group)
	if err := write(file, limited); err != nil {
		t.Skipf("no CFS quota here: %v", err)
	}
	if err := cgroup.LiftQuota(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); got != lifted {
		t.Errorf("quota = %q, want %q", got, lifted)
	}
}

func quotaFile(c *Cgroups, group string) (file, limited, lifted string) {
	if l, ok := c.tree.(legacy); ok {
		return filepath.Join(l.root, "cpu", group, "cpu.cfs_quota_us"), "50000", "-1"
	}
	return filepath.Join(c.tree.dir(group), "cpu.max"), "50000 100000", "max 100000"
}

func TestRealGone(t *testing.T) {
	cgroup, group := private(t)
	if err := cgroup.Confine(t.Context(), group+"/none", exactly(cpuset.Of(0))); !errors.Is(err, ErrNotExist) {
		t.Errorf("Confine without a cgroup = %v, want ErrNotExist", err)
	}
	if _, err := os.Stat(cgroup.tree.dir(group + "/none")); err == nil {
		t.Error("Confine made a cgroup")
	}
}

// TestRealPartitions runs the steps of TestPartitions on the host's own kernel, with cgroup v2.
func TestRealPartitions(t *testing.T) {
	cgroups, group := private(t)
	all, _, err := cgroups.Effective("/")
	if err != nil || !cpuset.Range(0, 4).SubsetOf(all) || cgroups.CheckPartitions() != nil || !cgroups.Partitions() {
		t.Skipf("needs Linux 6.7, CAP_SYS_ADMIN and the CPUs 0-4, has CPUs %v (%v)", all, err)
	}
	testPartitions(t, &realHost{groupFiles: cgroups.partitions.files, t: t, c: cgroups, processes: map[string]*exec.Cmd{}}, group)
}

// realHost starts processes in cgroups of the host's kernel.
type realHost struct {
	groupFiles
	t         *testing.T
	c         *Cgroups
	processes map[string]*exec.Cmd // by cgroup
}

func (h *realHost) start(group, cpus string) {
	h.t.Helper()
	pod := filepath.Dir(group)
	if _, err := os.Stat(h.c.tree.dir(pod)); err != nil {
		child(h.t, h.c, filepath.Dir(pod), filepath.Base(pod))
	}
	child(h.t, h.c, pod, filepath.Base(group))
	sleep := exec.CommandContext(h.t.Context(), "sleep", "60")
	if err := sleep.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.processes[group] = sleep
	if err := errors.Join(h.write(group, "cpuset.cpus", cpus), h.write(group, "cgroup.procs", fmt.Sprint(sleep.Process.Pid))); err != nil {
		h.t.Fatal(err)
	}
}

func (h *realHost) exit(group string) {
	_ = h.processes[group].Process.Kill()
	_ = h.processes[group].Wait()
	for range 100 {
		if events, err := h.read(group, "cgroup.events"); err != nil || strings.Contains(events, "populated 0") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (h *realHost) remove(group string) { removeAll(h.t, h.c.tree.dir(group)) }
