package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// transientScope starts a process in a systemd scope of its own, as runc does for a container under
// the systemd cgroup driver. It returns the name of the scope in the form that Confine takes. The
// property AllowedCPUs of the scope lists the given CPUs, if any.
func transientScope(t *testing.T, cpus cpuset.Set) string {
	t.Helper()
	scopes++
	name := fmt.Sprintf("numalet-test-%d-%d", os.Getpid(), scopes)
	process := exec.CommandContext(t.Context(), "systemd-run", "--scope", "--quiet", "--collect", "--unit", name,
		"--slice", "numalettest.slice", "--property", "AllowedCPUs="+cpus.String(), "sleep", "600")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	target := "numalettest.slice::" + name
	for cgroups := open(t, Options{}); ; time.Sleep(time.Millisecond) {
		if _, _, err := cgroups.Effective(target); err == nil {
			return target
		}
	}
}

// scopes is the number of scopes that transientScope has started.
var scopes int

// host returns the cgroup tree and the CPUs of the host on which the test runs. It skips the test
// if the host lacks systemd or cgroup v2 or has only one CPU, or if the test does not run as root.
func host(t *testing.T) (*Cgroups, cpuset.Set) {
	t.Helper()
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Getuid() != 0 {
		t.Skip("needs systemd as init, and root")
	}
	cgroups := open(t, Options{})
	if _, ok := cgroups.tree.(unified); !ok {
		t.Skip("needs cgroup v2: systemd leaves the cpusets of v1 alone")
	}
	all, _, err := cgroups.Effective("/")
	if err != nil || all.Len() < 2 {
		t.Skipf("needs two CPUs, has %v (%v)", all, err)
	}
	return cgroups, all
}

func daemonReload(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("systemctl", "daemon-reload").CombinedOutput(); err != nil {
		t.Fatalf("daemon-reload: %v: %s", err, out)
	}
}

// TestRealDaemonReload checks two things about a daemon-reload of systemd (systemd#40438). A
// daemon-reload reverts CPUs that Confine wrote but Persist did not send to systemd, so Persist is
// needed. It keeps CPUs that Persist sent, so Persist is sufficient.
func TestRealDaemonReload(t *testing.T) {
	c, all := host(t)
	target := transientScope(t, all)
	first, _ := all.First()
	sent, unsent := cpuset.Of(first), all.Minus(cpuset.Of(first))
	if err := c.Confine(t.Context(), target, exactly(sent)); err != nil {
		t.Fatal(err)
	}
	if err := c.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	daemonReload(t)
	if got, _, err := c.Effective(target); err != nil || !got.Equal(sent) {
		t.Errorf("after Persist and daemon-reload: %v, %v; want %v", got, err, sent)
	}
	if err := c.Confine(t.Context(), target, exactly(unsent)); err != nil {
		t.Fatal(err)
	}
	daemonReload(t)
	if got, _, err := c.Effective(target); err != nil || got.Equal(unsent) {
		t.Errorf("after daemon-reload without Persist: %v, %v; then Persist is not needed here", got, err)
	}
	if err := c.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.Effective(target); err != nil || !got.Equal(unsent) {
		t.Errorf("after Persist: %v, %v; want %v", got, err, unsent)
	}
}

// TestRealSlice checks what the cpuset of a slice means for two scopes in it, also after a
// daemon-reload of systemd. The kernel intersects the CPUs of the first scope with those of the slice.
// The second scope has no CPUs of its own, so it has those of the slice.
func TestRealSlice(t *testing.T) {
	c, all := host(t)
	target, bare := transientScope(t, all), transientScope(t, cpuset.Set{})
	const slice = "numalettest.slice"
	first, _ := all.First()
	one, rest := cpuset.Of(first), all.Minus(cpuset.Of(first))
	shared := func(target string, cpus cpuset.Set) func() error {
		return func() error { return c.Confine(t.Context(), target, workload.Decision{CPUs: cpus}) }
	}
	for _, step := range []struct {
		what       string
		do         func() error
		want, bare cpuset.Set
	}{
		{"the slice shrinks", shared(slice, rest), rest, rest},
		{"the scope shrinks", shared(target, one.Union(rest)), rest, rest},
		{"the slice grows", shared(slice, all), all, all},
		{"the scope shrinks below the slice", shared(target, one), one, all},
		{"the scope grows", shared(target, all), all, all},
		{"the slice shrinks again", shared(slice, rest), rest, rest},
		{"the slice grows again", shared(slice, all), all, all},
	} {
		look := func(when string) {
			t.Helper()
			for scope, want := range map[string]cpuset.Set{target: step.want, bare: step.bare} {
				if got, _, err := c.Effective(scope); err != nil || !got.Equal(want) {
					t.Errorf("%s: %s has %v, %v; want %v", when, scope, got, err, want)
				}
			}
			if got, err := c.Configured(bare); err != nil || !got.Empty() {
				t.Errorf("%s: CPUs %v, %v are set for %s, want none", when, got, err, bare)
			}
		}
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		look(step.what)
		if err := c.Persist(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		daemonReload(t)
		look(step.what + ", and daemon-reload")
	}
}

// TestRealPersistIsFinal changes the CPUs of a systemd scope repeatedly. It checks that systemd
// does not write an older value to the scope's cgroup after Persist has returned.
func TestRealPersistIsFinal(t *testing.T) {
	c, all := host(t)
	target := transientScope(t, all)
	for range 20 {
		for cpu := range all.All() {
			want := cpuset.Of(cpu)
			_ = c.Confine(t.Context(), target, exactly(want))
			if err := c.Persist(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, _, err := c.Effective(target); err != nil || !got.Equal(want) {
				t.Fatalf("after Persist: %v, %v; want %v", got, err, want)
			}
		}
	}
}
