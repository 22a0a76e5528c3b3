//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestPlaced starts one pod of each CPU policy. It checks that the container starts with exactly as
// many CPUs of each NUMA node as the controller chose. It also checks that the NodeTopology lists
// these CPUs, and does not count them as available until the pod ends.
func TestPlaced(t *testing.T) {
	for name, tc := range map[string]struct {
		policy, cpus string
		counts       []int // numbers of CPUs on the NUMA nodes, in ascending order; nil: not checked
	}{
		"placed-spread": {"spread", "6", []int{1, 1, 2, 2}},
		"placed-single": {"single", "4", []int{0, 0, 0, 4}},
		"placed-random": {"random", "5", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := start(t, 3*time.Minute, name)
			before := available(ctx, t)
			pod := place(ctx, t, e2eutil.Pod(name, tc.policy, e2eutil.Container{Name: "c", CPU: tc.cpus}))
			cpus := born(ctx, t, name, "c")
			checkPromised(t, pod, "c", cpus)
			if got := counts(cpus); tc.counts != nil && !cmp.Equal(tc.counts, got) {
				t.Errorf("born on %v: %v per NUMA node, want %v", cpus, got, tc.counts)
			}
			awaitTopology(ctx, t, func(status v1alpha1.NodeTopologyStatus) string {
				return cmp.Diff(map[string]string{"c": cpus.String()}, published(status, pod)) + cmp.Diff(less(before, cpus), availableOf(status))
			})
			must(t, cluster.Delete(ctx, name))
			awaitTopology(ctx, t, func(status v1alpha1.NodeTopologyStatus) string { return cmp.Diff(before, availableOf(status)) })
		})
	}
}

// TestBothForms checks that two kinds of pods can run on one node: pods that request CPUs of named
// NUMA nodes, and pods with a CPU policy. The controller counts the CPUs of both kinds.
func TestBothForms(t *testing.T) {
	ctx := start(t, 5*time.Minute, "named", "single", "late-named", "late-single")
	on1 := e2eutil.Container{Name: "c", CPU: "3", On: map[topology.NodeID]int{1: 3}}
	named := place(ctx, t, e2eutil.Pod("named", "", on1))
	checkPromised(t, named, "c", born(ctx, t, "named", "c"))
	for _, name := range []string{"single", "late-single"} { // only NUMA nodes 2 and 3 have room: node 1 has one CPU left, and node 0 two
		pod := place(ctx, t, e2eutil.Pod(name, "single", e2eutil.Container{Name: "c", CPU: "4"}))
		cpus := born(ctx, t, name, "c")
		checkPromised(t, pod, "c", cpus)
		if cpus.Overlaps(cpuset.Range(0, 7)) {
			t.Errorf("%s was born on %v, of which CPUs 4-7 have a holder and 0-1 are reserved", name, cpus)
		}
	}
	_, err := cluster.Create(ctx, e2eutil.Pod("late-named", "", e2eutil.Container{Name: "c", CPU: "3", On: map[topology.NodeID]int{1: 1, 2: 2}}))
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "late-named", "FailedScheduling", "1 Insufficient"))
	must(t, cluster.Delete(ctx, "single", "late-single"))
	late, err := cluster.Await(ctx, "late-named", e2eutil.Running)
	must(t, err)
	checkPromised(t, late, "c", born(ctx, t, "late-named", "c"))
	checkLives(ctx, t)
}

// TestPending checks that a pod that fits no node stays pending. An event must say how many nodes do
// not fit and why, and the pod's condition PodScheduled must have the reason Unschedulable.
func TestPending(t *testing.T) {
	for name, tc := range map[string]struct{ policy, cpus, message string }{
		"wide-single": {"single", "5", "1 node(s) had no NUMA node with enough exclusive CPUs"},
		"wide-spread": {"spread", "12", "1 node(s) couldn't spread the exclusive CPUs evenly over their NUMA nodes"},
		"too-many":    {"random", "15", "1 Insufficient cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := start(t, time.Minute, name)
			_, err := cluster.Create(ctx, e2eutil.Pod(name, tc.policy, e2eutil.Container{Name: "c", CPU: tc.cpus}))
			must(t, err)
			must(t, cluster.AwaitEvent(ctx, name, "FailedScheduling", "0/1 nodes are available: "+tc.message))
			pod, err := cluster.Await(ctx, name, unschedulable)
			must(t, err)
			if pod.Spec.NodeName != "" {
				t.Errorf("bound to %s", pod.Spec.NodeName)
			}
		})
	}
}

func unschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

// place creates a pod and waits until it runs. It checks that the pod's scheduler was the
// controller.
func place(ctx context.Context, t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	_, err := cluster.Create(ctx, pod)
	must(t, err)
	runs, err := cluster.Await(ctx, pod.Name, e2eutil.Running)
	must(t, err)
	if runs.Spec.SchedulerName != e2eutil.Scheduler {
		t.Errorf("pod %s was scheduled by %s, want %s", pod.Name, runs.Spec.SchedulerName, e2eutil.Scheduler)
	}
	return runs
}

// checkPromised checks that a container has as many CPUs of each NUMA node as the controller
// decided. This decision is in the placement annotation of the container's pod.
func checkPromised(t *testing.T, pod *corev1.Pod, container string, cpus cpuset.Set) {
	t.Helper()
	promised, err := e2eutil.Placement(pod)
	must(t, err)
	if diff := cmp.Diff(promised[container], perNode(cpus)); diff != "" {
		t.Errorf("CPUs of %s/%s by NUMA node (-promised +born):\n%s", pod.Name, container, diff)
	}
}

// perNode returns how many of the CPUs are on each NUMA node. Each NUMA node has four CPUs.
func perNode(cpus cpuset.Set) map[topology.NodeID]int {
	n := map[topology.NodeID]int{}
	for c := range cpus.All() {
		n[topology.NodeID(c)/4]++
	}
	return n
}

// The function `less` returns how many of the available CPUs of each NUMA node remain after the
// given CPUs are assigned.
func less(available map[topology.NodeID]int, cpus cpuset.Set) map[topology.NodeID]int {
	left := map[topology.NodeID]int{}
	for id, n := range available {
		left[id] = n - perNode(cpus)[id]
	}
	return left
}
