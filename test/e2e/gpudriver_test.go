//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// gpuDriver replaces the driver of the node, as an administrator does. While the label
// numalet.dev/gpu is "false", no process may use the library of the driver. When the label is set
// back, the node must publish the version of the new driver, and pods must get GPUs again. Meanwhile,
// the agent must not be restarted, and neither must a container with exclusive CPUs.
func gpuDriver(ctx context.Context, t *testing.T) {
	t.Cleanup(func() {
		kubectl(context.Background(), t, "label", "node", cluster.Node(), "numalet.dev/gpu=true", "--overwrite")
		must(t, cluster.Delete(context.Background(), "held", "after")) // "after" may have the only GPU that no group has, which the next subtest needs
	})
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	cpus, agents := born(ctx, t, "held", "c"), agentPods(ctx, t)
	if users := driverUsers(ctx, t); users == "" {
		t.Fatal("no process uses the library of the driver, so the test could not see a process that still uses it")
	}
	kubectl(ctx, t, "label", "node", cluster.Node(), "numalet.dev/gpu=false", "--overwrite")
	awaitNoDriverUsers(ctx, t)
	const library = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
	_, err := cluster.Shell(ctx, "cp "+library+" /tmp/library && rm "+library+" && mv /tmp/library "+library+
		" && sed -i -e 's/^driver .*/driver 580.95.05-fake/' -e 's/^cuda .*/cuda 13000/' /etc/fakenvml/layout")
	must(t, err)
	kubectl(ctx, t, "label", "node", cluster.Node(), "numalet.dev/gpu=true", "--overwrite")
	awaitTopology(ctx, t, func(status v1alpha1.NodeTopologyStatus) string {
		return cmp.Diff([]string{"580.95.05-fake", "13.0"}, []string{status.Machine.GPUDriver, status.Machine.CUDA})
	})
	awaitNode(ctx, t, allocatable(map[string]int64{whole: 6, small: 2, medium: 1}))
	checkVisible(ctx, t, place(ctx, t, ofTenant(gpuPod("after", time.Hour, map[string]int{whole: 1}), "")), 1)
	if diff := cmp.Diff(agents, agentPods(ctx, t)); diff != "" {
		t.Errorf("the agent was restarted (-before +after):\n%s", diff)
	}
	if now := currentCPUs(ctx, t, "held", "c"); !now.Equal(cpus) {
		t.Errorf("held had CPUs %v before the upgrade of the driver, and has %v after it", cpus, now)
	}
	pod, err := cluster.Await(ctx, "held", e2eutil.Running)
	must(t, err)
	if restarts := pod.Status.ContainerStatuses[0].RestartCount; restarts > 0 {
		t.Errorf("the container with exclusive CPUs was restarted %d times", restarts)
	}
}

// driverUsers returns the processes of the node that have loaded the library of the driver, a line
// each.
func driverUsers(ctx context.Context, t *testing.T) string {
	t.Helper()
	users, err := cluster.Shell(ctx, "grep -l libnvidia-ml /proc/[0-9]*/maps 2>/dev/null || true")
	must(t, err)
	return strings.TrimSpace(users)
}

func awaitNoDriverUsers(ctx context.Context, t *testing.T) {
	t.Helper()
	for {
		users := driverUsers(ctx, t)
		if users == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("processes still use the library of the driver: %s", users)
		case <-time.After(time.Second):
		}
	}
}

// agentPods returns the UID of the node's agent pod, and how often its containers were restarted.
func agentPods(ctx context.Context, t *testing.T) string {
	t.Helper()
	return numalet(ctx, t, "get", "pods", "--selector=app.kubernetes.io/name=numalet",
		"--output=jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount}\n{end}")
}
