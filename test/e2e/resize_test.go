//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// resizedReason is the reason of the events that report a resize.
const resizedReason = "NumaletResized"

// TestResize checks that a container with the CPU policy "single" can grow and shrink in place. The
// container can have at most the four CPUs of one NUMA node. It begins with three CPUs. So it
// cannot be on NUMA node 0, where two of the four CPUs are reserved. A shared container must never
// run on the CPUs of the resized container.
func TestResize(t *testing.T) {
	ctx := start(t, 5*time.Minute, "resize", "witness")
	create(ctx, t, e2eutil.Pod("witness", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, e2eutil.Pod("resize", "single", e2eutil.Container{Name: "c", CPU: "3"}))
	stop := watch(ctx, t)
	first := born(ctx, t, "resize", "c")

	grown := resized(ctx, t, "4")
	if !first.SubsetOf(grown) || len(onNodes(grown)) != 1 {
		t.Errorf("grew from %v to %v, want the same NUMA node", first, grown)
	}
	awaitCPUs(ctx, t, "witness", "c", cpuset.Range(0, 15).Minus(grown))
	must(t, cluster.AwaitEvent(ctx, "resize", resizedReason, "has these exclusive CPUs now: "+grown.String()))

	must(t, resize(ctx, "resize", "5"))
	must(t, cluster.AwaitEvent(ctx, "resize", eventReason, "cannot have cpu 5"))
	_, err := cluster.Await(ctx, "resize", inError)
	must(t, err)
	awaitCPUs(ctx, t, "resize", "c", grown)

	if got := resized(ctx, t, "4"); !got.Equal(grown) {
		t.Errorf("took 5 CPUs back, and has %v instead of %v", got, grown)
	}
	if got := resized(ctx, t, "3"); !got.Equal(first) {
		t.Errorf("shrank to %v, want the first CPUs %v", got, first)
	}
	awaitCPUs(ctx, t, "witness", "c", cpuset.Range(0, 15).Minus(first))
	checkWatched(t, stop())

	for cpu, want := range map[string]string{"2500m": "between exclusive and shared CPUs in place", "2": ""} {
		if err := resize(ctx, "resize", cpu); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("resize to %s: %v, want %q", cpu, err, want)
		}
	}
}

// TestResizeKilled kills the agent, containerd and the kubelet during resizes. It checks that each
// resize is completed in the end, and that no shared container runs on an exclusive CPU.
func TestResizeKilled(t *testing.T) {
	ctx := start(t, 15*time.Minute, "resize", "witness")
	create(ctx, t, e2eutil.Pod("witness", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, e2eutil.Pod("resize", "spread", e2eutil.Container{Name: "c", CPU: "4"}))
	stop := watch(ctx, t)
	first := born(ctx, t, "resize", "c")
	for _, victim := range victims {
		for _, cpu := range []string{"8", "5", "10", "4"} {
			must(t, resize(ctx, "resize", cpu))
			killNow(ctx, t, victim)
			got := awaitSize(ctx, t, cpu)
			t.Logf("%s killed during a resize to %s: the container has %v", victim, cpu, got)
			awaitCPUs(ctx, t, "witness", "c", cpuset.Range(0, 15).Minus(got))
		}
	}
	awaitCPUs(ctx, t, "resize", "c", first)
	checkWatched(t, stop())
}

// resized resizes the pod, waits until the resize is completed, and returns the CPUs that the
// container may use then.
func resized(ctx context.Context, t *testing.T, cpu string) cpuset.Set {
	t.Helper()
	must(t, resize(ctx, "resize", cpu))
	return awaitSize(ctx, t, cpu)
}

// awaitSize waits until the status of the pod has the new CPU request and the container may use
// that number of CPUs. It does not check the CPU limit in the status: the kubelet computes this
// limit from the CFS quota, and containers with exclusive CPUs have no CFS quota.
func awaitSize(ctx context.Context, t *testing.T, cpu string) cpuset.Set {
	t.Helper()
	_, err := cluster.Await(ctx, "resize", func(pod *corev1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return len(s) == 1 && s[0].Resources != nil && s[0].Resources.Requests.Cpu().String() == cpu && !resizing(pod)
	})
	must(t, err)
	var n int
	_, err = fmt.Sscan(cpu, &n)
	must(t, err)
	return awaitCount(ctx, t, "resize", "c", n)
}

// resizing reports whether a resize of the pod is not completed yet.
func resizing(pod *corev1.Pod) bool {
	return inError(pod) || condition(pod, corev1.PodResizePending, "") || condition(pod, corev1.PodResizeInProgress, "")
}

// inError reports whether a resize has failed in the container runtime. The kubelet retries such a
// resize.
func inError(pod *corev1.Pod) bool {
	return condition(pod, corev1.PodResizeInProgress, corev1.PodReasonError)
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType, reason string) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue && (reason == "" || c.Reason == reason) {
			return true
		}
	}
	return false
}

// onNodes returns a map with one entry for each NUMA node that has some of the CPUs. The caller
// uses only the number of entries. The keys are not the IDs of the NUMA nodes, because the function
// `counts` returns its numbers in ascending order.
func onNodes(cpus cpuset.Set) map[int]bool {
	on := map[int]bool{}
	for i, n := range counts(cpus) {
		if n > 0 {
			on[i] = true
		}
	}
	return on
}

// checkWatched checks that the watcher on the node (`probe watch`) has read exclusive and shared
// containers and found no overlap.
func checkWatched(t *testing.T, r watchReport) {
	t.Helper()
	t.Logf("the watcher made %d passes: %d violations", r.Passes, len(r.Violations))
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Passes == 0 || r.Exclusive == 0 || r.Shared == 0 {
		t.Errorf("the watcher has seen too little: %+v", r)
	}
}

// resize changes the CPU request and the CPU limit of the container "c" of a running pod.
func resize(ctx context.Context, pod, cpu string) error {
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q},"limits":{"cpu":%[1]q}}}]}}`, cpu)
	_, err := cluster.API.CoreV1().Pods(cluster.Namespace).Patch(ctx, pod, types.StrategicMergePatchType,
		[]byte(patch), metav1.PatchOptions{}, "resize")
	return err
}
