package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestKill(t *testing.T) {
	root := fake(t, map[string]string{
		"kubepods/cgroup.kill":                       "",
		"kubepods/pod1/c1/cgroup.kill":               "",
		"kubepods/pod1/c1/cgroup.events":             "populated 0\n",
		"kubepods.slice/crio-c2.scope/cgroup.kill":   "",
		"kubepods.slice/crio-c2.scope/cgroup.events": "populated 0\n",
		"kubepods/pod1/stays/cgroup.kill":            "",
		"kubepods/pod1/stays/cgroup.events":          "populated 1\n",
	})
	c := open(t, Options{Root: root})
	if err := c.CheckKill(); err != nil {
		t.Error(err)
	}
	for target, path := range map[string]string{"/kubepods/pod1/c1": "kubepods/pod1/c1", "kubepods.slice:crio:c2": "kubepods.slice/crio-c2.scope"} {
		if err := c.Kill(target); err != nil {
			t.Error(err)
		}
		if got := read(t, root, path, "cgroup.kill"); got != "1" {
			t.Errorf("Kill(%s) wrote %q, want 1", target, got)
		}
	}
	if err := c.Kill("/kubepods/pod1/stays"); err == nil {
		t.Error("Kill returned no error, although a process has not ended")
	}
	if err := c.Kill("/kubepods/pod1/gone"); !errors.Is(err, ErrNotExist) {
		t.Errorf("Kill of a missing cgroup: %v, want ErrNotExist", err)
	}
}

// TestCheckKill checks that CheckKill returns an error on a node with cgroup v1, and on a node with
// cgroup v2 whose kernel is too old for cgroup.kill.
func TestCheckKill(t *testing.T) {
	v1 := t.TempDir()
	if err := os.MkdirAll(filepath.Join(v1, "cpuset/kubepods"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, root := range map[string]string{"v1": v1, "v2": fake(t, map[string]string{"kubepods/cgroup.events": ""})} {
		if err := open(t, Options{Root: root}).CheckKill(); err == nil {
			t.Errorf("%s: CheckKill returned no error", name)
		}
	}
}
