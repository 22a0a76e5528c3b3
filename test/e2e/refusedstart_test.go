//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestRefusedStart checks a container whose start the agent refuses. The program of the container
// must not run. The container must start once the agent no longer refuses it. While an init
// container runs, the test takes the exclusive CPUs of the pod's main container from the pod's
// cgroup. The agent notices this only at the start of the main container, which has no cgroup
// before its start.
func TestRefusedStart(t *testing.T) {
	ctx := start(t, 4*time.Minute, "refused")
	_, err := cluster.Create(ctx, e2eutil.Pod("refused", "single",
		e2eutil.Container{Name: "init", CPU: "100m", Init: true, Life: 15 * time.Second}, e2eutil.Container{Name: "main", CPU: "2"}))
	must(t, err)
	newest(ctx, t, "refused", "init")
	cgroup := strings.TrimSpace(ofProbe(ctx, t, "refused", "dirname $(cut -d: -f3 /proc/$p/cgroup)"))
	must(t, limitCPUs(ctx, cgroup, "0-1"))
	must(t, cluster.AwaitEvent(ctx, "refused", "NumaletRefused", "the kernel has CPUs 0-1 in force"))
	pod, err := cluster.Await(ctx, "refused", afterStart)
	must(t, err)
	if e2eutil.Running(pod) {
		t.Error("the container runs, although its start was refused")
	}
	lives, err := cluster.Lives(ctx)
	must(t, err)
	for _, l := range lives {
		if l.Container == "main" {
			t.Errorf("the container was born on %v, although its start was refused", l.Born())
		}
	}
	must(t, limitCPUs(ctx, cgroup, "0-15"))
	_, err = cluster.Await(ctx, "refused", e2eutil.Running)
	must(t, err)
	if cpus := born(ctx, t, "refused", "main"); cpus.Len() != 2 {
		t.Errorf("born on %v, want two CPUs", cpus)
	}
	checkLives(ctx, t)
}

// afterStart reports whether the kubelet has reported the result of its attempt to start a pod's
// container.
func afterStart(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting == nil || s.State.Waiting.Reason != "PodInitializing" && s.State.Waiting.Reason != "ContainerCreating"
	})
}

// limitCPUs limits the cgroup of a pod to the given CPUs.
func limitCPUs(ctx context.Context, cgroup, cpus string) error {
	command := "echo " + cpus + " >/sys/fs/cgroup" + cgroup + "/cpuset.cpus"
	if strings.HasSuffix(cgroup, ".slice") {
		command = "systemctl set-property --runtime $(basename " + cgroup + ") AllowedCPUs=" + cpus
	}
	_, err := cluster.Shell(ctx, command)
	return err
}
