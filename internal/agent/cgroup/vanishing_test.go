package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
)

// vanish replaces a file of the fake cgroup tree by a device without a driver. Opening this device
// fails with ENODEV. In a real cgroup tree, a read fails with this error if the cgroup was removed
// after the file was opened.
func vanish(t *testing.T, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	const miscMajor, noDriver = 10, 253
	if err := unix.Mknod(name, unix.S_IFCHR|0o600, int(unix.Mkdev(miscMajor, noDriver))); err != nil {
		t.Skipf("needs root to make a device: %v", err)
	}
}

// TestVanishingChild checks that PodEmpty and Confine work with cgroup v1 while a cgroup below the
// container's cgroup is removed.
func TestVanishingChild(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"kubepods/pod1/cpuset.cpus":              "0-3\n",
		"kubepods/pod1/cgroup.procs":             "",
		"kubepods/pod1/c1/cpuset.cpus":           "0-3\n",
		"kubepods/pod1/c1/cpuset.effective_cpus": "1\n",
		"kubepods/pod1/c1/cpuset.effective_mems": "0\n",
		"kubepods/pod1/c1/cgroup.procs":          "",
		"kubepods/pod1/c1/inner/cpuset.cpus":     "0-3\n",
		"kubepods/pod1/c1/inner/cgroup.procs":    "",
		"kubepods/pod1/c2/cgroup.procs":          "7\n",
	} {
		path := filepath.Join(root, "cpuset", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	vanish(t, root, "cpuset/kubepods/pod1/c1/inner/cpuset.cpus")
	vanish(t, root, "cpuset/kubepods/pod1/c1/inner/cgroup.procs")
	cgroups := open(t, Options{Root: root})
	if empty, err := cgroups.PodEmpty("/kubepods/pod1"); err != nil || empty {
		t.Errorf("PodEmpty = %v, %v; a container of the pod has a process", empty, err)
	}
	if err := cgroups.Confine(t.Context(), "/kubepods/pod1/c1", exactly(cpuset.Of(1))); err != nil {
		t.Errorf("Confine = %v", err)
	}
	if got := read(t, root, "cpuset/kubepods/pod1/c1/cpuset.cpus"); got != "1" {
		t.Errorf("cpuset.cpus = %q, want 1", got)
	}
}
