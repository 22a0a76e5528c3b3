//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestPolicies starts one pod of each policy and checks the first CPUs of its container: how
// many are on each NUMA node, and whether cores are whole.
func TestPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		policy string
		cpus   int
		counts []int // per NUMA node, ascending; nil: any
		whole  bool  // both threads of every core
		bound  bool  // memory on the NUMA node of the CPUs
	}{
		"spread-8": {"spread", 8, []int{2, 2, 2, 2}, true, false},
		"spread-6": {"spread", 6, []int{1, 1, 2, 2}, false, false},
		"single-4": {"single", 4, []int{0, 0, 0, 4}, true, true},
		"random-3": {"random", 3, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := start(t, 2*time.Minute, name)
			_, err := cluster.Create(ctx, e2eutil.Pod(name, tc.policy, e2eutil.Container{Name: "c", CPU: strconv.Itoa(tc.cpus)}))
			must(t, err)
			_, err = cluster.Await(ctx, name, e2eutil.Running)
			must(t, err)
			cpus := born(ctx, t, name, "c")
			if cpus.Len() != tc.cpus {
				t.Errorf("born on %v: %d CPUs, want %d", cpus, cpus.Len(), tc.cpus)
			}
			if cpus.Overlaps(cpuset.MustParse("0-1")) {
				t.Errorf("born on %v, of which 0-1 are reserved", cpus)
			}
			if got, want := quotas(ctx, t, name), []string{"max", "max"}; !slices.Equal(got, want) {
				t.Errorf("CPU quota of the container and of its pod: %v, want none", got)
			}
			if got := counts(cpus); tc.counts != nil && !slices.Equal(got, tc.counts) {
				t.Errorf("born on %v: %v per NUMA node, want %v", cpus, got, tc.counts)
			}
			if tc.whole && !wholeCores(cpus) {
				t.Errorf("born on %v: a core is split", cpus)
			}
			first, _ := cpus.First()
			if want := fmt.Sprint(first / 4); tc.bound && mems(ctx, t, name) != want {
				t.Errorf("born on %v: memory from NUMA nodes %s, want %s", cpus, mems(ctx, t, name), want)
			}
		})
	}
}

// TestMixed starts a pod with an init container, a sidecar, an exclusive and a shared
// container. The exclusive container reuses the init container's CPUs .
func TestMixed(t *testing.T) {
	ctx := start(t, 3*time.Minute, "mixed")
	_, err := cluster.Create(ctx, e2eutil.Pod("mixed", "single",
		e2eutil.Container{Name: "init", CPU: "2", Init: true, Life: 500 * time.Millisecond},
		e2eutil.Container{Name: "side", CPU: "1", Sidecar: true},
		e2eutil.Container{Name: "main", CPU: "2"},
		e2eutil.Container{Name: "log", CPU: "500m"}))
	must(t, err)
	_, err = cluster.Await(ctx, "mixed", e2eutil.Running)
	must(t, err)
	if init, main := born(ctx, t, "mixed", "init"), born(ctx, t, "mixed", "main"); !init.Equal(main) {
		t.Errorf("main was born on %v, want the init container's %v", main, init)
	}
	side, main, log := born(ctx, t, "mixed", "side"), born(ctx, t, "mixed", "main"), born(ctx, t, "mixed", "log")
	if side.Len() != 1 || side.Overlaps(main) {
		t.Errorf("the sidecar was born on %v beside main's %v", side, main)
	}
	if log.Overlaps(side.Union(main)) || log.Len() != 16-3 {
		t.Errorf("the shared container was born on %v beside %v and %v", log, side, main)
	}
	checkLives(ctx, t)
}

// TestGiveBack: a shared container is confined while an exclusive pod runs, and gets the CPUs back
// when that ends .
func TestGiveBack(t *testing.T) {
	ctx := start(t, 3*time.Minute, "shared", "guest")
	_, err := cluster.Create(ctx, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	must(t, err)
	_, err = cluster.Await(ctx, "shared", e2eutil.Running)
	must(t, err)
	_, err = cluster.Create(ctx, e2eutil.Pod("guest", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	must(t, err)
	_, err = cluster.Await(ctx, "guest", e2eutil.Running)
	must(t, err)
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(born(ctx, t, "guest", "c")))
	must(t, cluster.Delete(ctx, "guest"))
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15))
	checkLives(ctx, t)
}

// born returns the first CPUs of a container in its newest life.
func born(ctx context.Context, t *testing.T, pod, container string) cpuset.Set {
	t.Helper()
	return newest(ctx, t, pod, container).Born()
}

// newest returns a container's newest life, and waits for it: the kubelet
// calls a container running before its program's first line is written.
func newest(ctx context.Context, t *testing.T, pod, container string) e2eutil.Life {
	t.Helper()
	for {
		lives, err := cluster.Lives(ctx)
		must(t, err)
		for _, l := range slices.Backward(lives) {
			if l.Pod == pod && l.Container == container {
				return l
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("container %s of pod %s has reported nothing", container, pod)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// mems returns the NUMA nodes from which a pod's probe may have memory.
func mems(ctx context.Context, t *testing.T, pod string) string {
	t.Helper()
	out := ofProbe(ctx, t, pod, "grep Mems_allowed_list /proc/$p/status")
	return strings.TrimSpace(strings.TrimPrefix(out, "Mems_allowed_list:"))
}

// quotas returns the CPU time per period that the cgroups of a pod's probe and
// of its pod may use.
func quotas(ctx context.Context, t *testing.T, pod string) []string {
	t.Helper()
	out := ofProbe(ctx, t, pod, "cd /sys/fs/cgroup$(cut -d: -f3 /proc/$p/cgroup) && cut -d' ' -f1 cpu.max ../cpu.max")
	return strings.Fields(out)
}

// ofProbe runs a command in the machine with p set to the process of a pod's probe.
func ofProbe(ctx context.Context, t *testing.T, pod, command string) string {
	t.Helper()
	out, err := cluster.Shell(ctx, "for p in $(pidof probe); do grep -q /"+pod+"_ /proc/$p/cmdline && { "+command+"; }; done; true")
	must(t, err)
	return out
}

// awaitCPUs waits until a container sees exactly these CPUs.
func awaitCPUs(ctx context.Context, t *testing.T, pod, container string, want cpuset.Set) {
	t.Helper()
	for {
		samples := newest(ctx, t, pod, container).Samples
		got := samples[len(samples)-1].CPUs
		if got.Equal(want) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s/%s sees %v, want %v", pod, container, got, want)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// counts returns how many of the CPUs lie on each NUMA node, ascending.
func counts(cpus cpuset.Set) []int {
	n := make([]int, 4)
	for c := range cpus.All() {
		n[c/4]++
	}
	slices.Sort(n)
	return n
}

// wholeCores reports whether with each CPU its SMT sibling (c^1) is in the set.
func wholeCores(cpus cpuset.Set) bool {
	for c := range cpus.All() {
		if !cpus.Has(c ^ 1) {
			return false
		}
	}
	return true
}
