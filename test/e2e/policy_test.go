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

// TestPolicies starts pods of each CPU policy. It checks how many CPUs of each NUMA node the
// container has when it starts. In the test cases with the field `whole`, it also checks that the
// container has both threads of each of its cores. The container must have no CPU quota. A
// container with the CPU policy "single" must get memory only from the NUMA node of its CPUs.
func TestPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		policy string
		cpus   int
		counts []int // numbers of CPUs on the NUMA nodes, in ascending order; nil: not checked
		whole  bool  // the container must have both threads of each of its cores
		bound  bool  // memory must be on the NUMA node of the CPUs
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

// TestMixed starts a pod with an init container, a sidecar, and two app containers. One app
// container has exclusive CPUs, and the second one has shared CPUs. The test checks that the
// exclusive container reuses the CPUs of the init container, and that the shared container has no
// exclusive CPU.
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

// TestGiveBack checks that a shared container loses CPUs when a pod with exclusive CPUs starts, and
// gets these CPUs back when that pod has ended.
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

// born returns the CPUs that a container had at its latest start.
func born(ctx context.Context, t *testing.T, pod, container string) cpuset.Set {
	t.Helper()
	return newest(ctx, t, pod, container).Born()
}

// newest returns the records of a container since its latest start. It waits until there are
// records, because the kubelet may report a container as running before the container has written
// its first record.
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

// mems returns the NUMA nodes from which a pod's program may allocate memory.
func mems(ctx context.Context, t *testing.T, pod string) string {
	t.Helper()
	out := ofProbe(ctx, t, pod, "grep Mems_allowed_list /proc/$p/status")
	return strings.TrimSpace(strings.TrimPrefix(out, "Mems_allowed_list:"))
}

// quotas returns the CPU quotas (from cpu.max) of the cgroup of a pod's container and of the cgroup
// of the pod.
func quotas(ctx context.Context, t *testing.T, pod string) []string {
	t.Helper()
	out := ofProbe(ctx, t, pod, "cd /sys/fs/cgroup$(cut -d: -f3 /proc/$p/cgroup) && cut -d' ' -f1 cpu.max ../cpu.max")
	return strings.Fields(out)
}

// ofProbe runs a shell command on the node for each process of the program `probe` in a pod. The
// shell variable `p` has the PID of this process.
func ofProbe(ctx context.Context, t *testing.T, pod, command string) string {
	t.Helper()
	out, err := cluster.Shell(ctx, "for p in $(pidof probe); do grep -q /"+pod+"_ /proc/$p/cmdline && { "+command+"; }; done; true")
	must(t, err)
	return out
}

// awaitCPUs waits until a container may use exactly the given CPUs, according to the container's
// own records.
func awaitCPUs(ctx context.Context, t *testing.T, pod, container string, want cpuset.Set) {
	t.Helper()
	awaitAllowed(ctx, t, pod, container, want.String(), want.Equal)
}

// awaitAllowed waits until the function `right` returns true for the CPUs that a container may use,
// according to the container's own records. The parameter `want` describes these CPUs.
func awaitAllowed(ctx context.Context, t *testing.T, pod, container, want string, right func(cpuset.Set) bool) {
	t.Helper()
	for {
		got := currentCPUs(ctx, t, pod, container)
		if right(got) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s/%s sees %v, want %s", pod, container, got, want)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// currentCPUs returns the CPUs that a container may use, according to its last record.
func currentCPUs(ctx context.Context, t *testing.T, pod, container string) cpuset.Set {
	t.Helper()
	samples := newest(ctx, t, pod, container).Samples
	return samples[len(samples)-1].CPUs
}

// counts returns how many of the CPUs are on each of the four NUMA nodes. The numbers are in
// ascending order, so they do not show which NUMA node has how many.
func counts(cpus cpuset.Set) []int {
	n := make([]int, 4)
	for c := range cpus.All() {
		n[c/4]++
	}
	slices.Sort(n)
	return n
}

// wholeCores reports whether cpus has both threads of each of its cores. The threads of a core are
// the CPUs 2n and 2n+1.
func wholeCores(cpus cpuset.Set) bool {
	for c := range cpus.All() {
		if !cpus.Has(c ^ 1) {
			return false
		}
	}
	return true
}
