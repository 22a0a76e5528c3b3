//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestInstaller installs the chart with containerd.installer=install, so that containerd requires
// the agent. At first, containerd's main configuration file imports no other files. The test checks
// that running containers continue to run, and that containerd creates no container while the agent
// is away. Then it sets containerd.installer=undo, and checks that containerd's configuration files
// are as before.
func TestInstaller(t *testing.T) {
	needSystemd(t)
	ctx := start(t, 15*time.Minute, "running", "late", "open")
	withoutImports(ctx, t)
	create(ctx, t, e2eutil.Pod("running", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	before, process, life := containerdFiles(ctx, t), containerd(ctx, t), container(ctx, t, "running")
	t.Cleanup(func() { chart(context.Background(), t) })

	chart(ctx, t, "containerd.installer=install")
	awaitInstaller(ctx, t)
	installed, restarted := containerdFiles(ctx, t), containerd(ctx, t)
	if restarted == process || !strings.Contains(installed, "/etc/containerd/conf.d/numalet.toml") || !strings.Contains(installed, "/etc/containerd/config.toml.numalet-") {
		t.Errorf("containerd was process %s and is %s, with\n%s", process, restarted, installed)
	}
	if now := container(ctx, t, "running"); now != life {
		t.Errorf("running was container %s, and is %s", life, now)
	}
	numalet(ctx, t, "delete", "pods", "-l", "app.kubernetes.io/name=numalet-containerd", "--wait") // the DaemonSet creates a new pod of the installer, which must change nothing
	awaitInstaller(ctx, t)
	if again := containerd(ctx, t); again != restarted {
		t.Errorf("the next pod has restarted containerd: process %s, and now %s", restarted, again)
	}

	sendAway(ctx, t)
	_, err := cluster.Create(ctx, e2eutil.Pod("late", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "late", "Failed", `required plugin "numalet" not present`))
	if now := container(ctx, t, "running"); now != life {
		t.Errorf("running was container %s, and is %s", life, now)
	}
	checkLives(ctx, t)
	must(t, cluster.Delete(ctx, "late", "running")) // after the undo, containers may start without the agent and run on exclusive CPUs, so these pods are deleted first

	chart(ctx, t, "containerd.installer=undo") // the installer's pod must start although the agent is away
	awaitInstaller(ctx, t)
	if diff := cmp.Diff(before, containerdFiles(ctx, t)); diff != "" {
		t.Errorf("files of containerd (-before +after undo):\n%s", diff)
	}
	create(ctx, t, e2eutil.Pod("open", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	must(t, cluster.Delete(ctx, "open"))
	callBack(ctx, t)
}

// withoutImports removes all imports from containerd's main configuration file, as on a node that
// was never configured for Numalet. It restores the files when the test ends.
func withoutImports(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		back, stop := context.WithTimeout(context.Background(), 3*time.Minute)
		defer stop()
		_, err := cluster.Shell(back, "rm -rf /etc/containerd && mv /root/containerd.saved /etc/containerd && systemctl restart containerd && /usr/local/bin/probe ready")
		must(t, err)
	})
	_, err := cluster.Shell(ctx, "mkdir -p /root && rm -rf /root/containerd.saved && cp -a /etc/containerd /root/containerd.saved && "+
		"rm -r /etc/containerd/conf.d && sed -i '/^imports/d' /etc/containerd/config.toml && systemctl restart containerd && /usr/local/bin/probe ready")
	must(t, err)
}

// containerdFiles lists the files of containerd's configuration with their modes, owners and
// checksums.
func containerdFiles(ctx context.Context, t *testing.T) string {
	t.Helper()
	out, err := cluster.Shell(ctx, "find /etc/containerd | sort | while read f; do stat -c '%n %a %u %F' $f; if [ -f $f ]; then sha256sum <$f; fi; done")
	must(t, err)
	return out
}

// containerd returns the PID of containerd, as systemd prints it.
func containerd(ctx context.Context, t *testing.T) string {
	t.Helper()
	out, err := cluster.Shell(ctx, "systemctl show -p MainPID containerd")
	must(t, err)
	return strings.TrimSpace(out)
}

// container returns the ID of a pod's container, and how often it was restarted.
func container(ctx context.Context, t *testing.T, pod string) string {
	t.Helper()
	p, err := cluster.Await(ctx, pod, e2eutil.Running)
	must(t, err)
	status := p.Status.ContainerStatuses[0]
	return fmt.Sprintf("%s, restarted %d times", status.ContainerID, status.RestartCount)
}

// awaitInstaller waits until the newest pod of numalet-containerd is ready. The pod is ready once
// it has changed the configuration of containerd as the chart's values say.
func awaitInstaller(ctx context.Context, t *testing.T) {
	t.Helper()
	numalet(ctx, t, "rollout", "status", "daemonset/numalet-containerd", "--timeout=6m")
	for {
		pods, err := cluster.API.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=numalet-containerd"})
		must(t, err)
		if len(pods.Items) == 1 && pods.Items[0].DeletionTimestamp == nil && e2eutil.Running(&pods.Items[0]) && pods.Items[0].Status.ContainerStatuses[0].Ready {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("numalet-containerd is not done:\n%s", numalet(context.Background(), t, "logs", "daemonset/numalet-containerd"))
		case <-time.After(500 * time.Millisecond):
		}
	}
}
