package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
)

// TestUsage checks the CPU time that Usage returns for a cgroup, in cgroup v1 and v2. cgroup v2 has
// one number for a cgroup, and v1 has one number for each CPU.
func TestUsage(t *testing.T) {
	v2 := fake(t, map[string]string{"kubepods/pod1/c1/cpu.stat": "usage_usec 2500000\nuser_usec 1\n", "kubepods/pod1/bad/cpu.stat": "user_usec 1\n"})
	v1 := t.TempDir()
	for _, dir := range []string{"cpuset", "cpuacct/kubepods/pod1/c1"} {
		if err := os.MkdirAll(filepath.Join(v1, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(v1, "cpuacct/kubepods/pod1/c1/cpuacct.usage_percpu"), []byte("7 1000000000 2000000000 9 \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string]time.Duration{v2: 2500 * time.Millisecond, v1: 3 * time.Second} {
		cgroups := open(t, Options{Root: root})
		if got, err := cgroups.Usage("/kubepods/pod1/c1", cpuset.MustParse("1-2")); got != want || err != nil {
			t.Errorf("Usage() = %s, %v, want %s", got, err, want)
		}
		if _, err := cgroups.Usage("/kubepods/pod1/gone", cpuset.MustParse("1-2")); !errors.Is(err, ErrNotExist) {
			t.Errorf("Usage() of a missing cgroup: %v, want ErrNotExist", err)
		}
	}
	if _, err := open(t, Options{Root: v2}).Usage("/kubepods/pod1/bad", cpuset.MustParse("1")); err == nil || errors.Is(err, ErrNotExist) {
		t.Errorf("Usage() without usage_usec: %v", err)
	}
}
