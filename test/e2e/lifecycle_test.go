//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestCompleted checks that a pod that has completed but still exists holds no exclusive CPU.
func TestCompleted(t *testing.T) {
	ctx := start(t, 3*time.Minute, "done", "witness")
	_, err := cluster.Create(ctx, e2eutil.Pod("witness", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	must(t, err)
	_, err = cluster.Await(ctx, "witness", e2eutil.Running)
	must(t, err)
	_, err = cluster.Create(ctx, e2eutil.Once(e2eutil.Pod("done", "single", e2eutil.Container{Name: "c", CPU: "4", Life: 3 * time.Second})))
	must(t, err)
	_, err = cluster.Await(ctx, "done", e2eutil.Succeeded)
	must(t, err)
	awaitCPUs(ctx, t, "witness", "c", cpuset.Range(0, 15))
	checkLives(ctx, t)
}

// TestCrashLoop checks that a pod in CrashLoopBackOff, which has no running container, keeps its
// CPUs across a restart of the agent.
func TestCrashLoop(t *testing.T) {
	ctx := start(t, 4*time.Minute, "crash", "witness")
	_, err := cluster.Create(ctx, e2eutil.Pod("crash", "single", e2eutil.Container{Name: "c", CPU: "4", Life: time.Second, Exit: 1}))
	must(t, err)
	_, err = cluster.Await(ctx, "crash", backingOff)
	must(t, err)
	before := born(ctx, t, "crash", "c")
	restartAgent(ctx, t)
	_, err = cluster.Create(ctx, e2eutil.Pod("witness", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	must(t, err)
	_, err = cluster.Await(ctx, "witness", e2eutil.Running)
	must(t, err)
	if got := born(ctx, t, "witness", "c"); got.Overlaps(before) {
		t.Errorf("a shared container was born on %v, of which %v belong to the pod that backs off", got, got.Intersect(before))
	}
	_, err = cluster.Await(ctx, "crash", func(pod *corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount >= 3
	})
	must(t, err)
	checkLives(ctx, t)
}

func backingOff(pod *corev1.Pod) bool {
	if len(pod.Status.ContainerStatuses) != 1 {
		return false
	}
	w := pod.Status.ContainerStatuses[0].State.Waiting
	return w != nil && w.Reason == "CrashLoopBackOff"
}

// TestKills kills the agent, containerd and the kubelet, one after another, while pods run. It
// checks that the running pods keep their CPUs and that new pods start.
func TestKills(t *testing.T) {
	ctx := start(t, 8*time.Minute, "held", "shared")
	create(ctx, t, e2eutil.Pod("held", "spread", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	held := born(ctx, t, "held", "c")
	for _, victim := range victims {
		killNow(ctx, t, victim)
		later := "after-" + victim
		create(ctx, t, e2eutil.Pod(later, "single", e2eutil.Container{Name: "c", CPU: "2"}))
		awaitCPUs(ctx, t, "held", "c", held)
		awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(held).Minus(born(ctx, t, later, "c")))
		must(t, cluster.Delete(ctx, later))
	}
	checkLives(ctx, t)
}

// create creates a pod and waits until it runs.
func create(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	t.Helper()
	_, err := cluster.Create(ctx, pod)
	must(t, err)
	_, err = cluster.Await(ctx, pod.Name, e2eutil.Running)
	must(t, err)
}

// restartAgent kills the agent and waits until the kubelet has started it again.
func restartAgent(ctx context.Context, t *testing.T) {
	t.Helper()
	killNow(ctx, t, "numalet-agent")
	_, err := cluster.Shell(ctx, "/usr/local/bin/probe ready")
	must(t, err)
}
