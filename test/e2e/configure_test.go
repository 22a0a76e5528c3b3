//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
)

// configure sets environment variables of the agent's DaemonSet with the command in
// docs/tasks/administer.md, and removes them when the test ends.
func configure(ctx context.Context, t *testing.T, settings ...string) {
	t.Helper()
	t.Cleanup(func() {
		for i, setting := range settings {
			name, _, _ := strings.Cut(setting, "=")
			settings[i] = name + "-"
		}
		setEnv(context.Background(), t, settings...)
	})
	setEnv(ctx, t, settings...)
}

func setEnv(ctx context.Context, t *testing.T, settings ...string) {
	t.Helper()
	numalet(ctx, t, append([]string{"set", "env", "daemonset/numalet"}, settings...)...)
	rollOut(ctx, t)
}

// rollOut waits until every node runs an agent pod of the DaemonSet's current version.
func rollOut(ctx context.Context, t *testing.T) {
	t.Helper()
	numalet(ctx, t, "rollout", "status", "daemonset/numalet", "--timeout=4m")
	_, err := cluster.Shell(ctx, "/usr/local/bin/probe ready")
	must(t, err)
}

// numalet runs kubectl in the namespace of Numalet.
func numalet(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	return kubectl(ctx, t, append([]string{"--namespace", system}, args...)...)
}

func kubectl(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(ctx, "kubectl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// requireAgent configures whether containerd refuses to create containers while the agent is not
// connected, and restarts containerd.
func requireAgent(ctx context.Context, on bool) error {
	move := "mv /etc/containerd/conf.d/numalet.toml /etc/containerd/numalet.off"
	if on {
		move = "mv /etc/containerd/numalet.off /etc/containerd/conf.d/numalet.toml"
	}
	_, err := cluster.Shell(ctx, move+" && kill $(pidof containerd)")
	return err
}

// awaitNode polls the node until nothing is wrong with it. The argument `wrong` is a function that
// returns what is wrong with the node, or "" if nothing is wrong.
func awaitNode(ctx context.Context, t *testing.T, wrong func(*corev1.Node) string) {
	t.Helper()
	for {
		node, err := cluster.API.CoreV1().Nodes().Get(ctx, cluster.Node(), metav1.GetOptions{})
		must(t, err)
		complaint := wrong(node)
		if complaint == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("node %s: %s", cluster.Node(), complaint)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// nothingPublished checks that the node publishes no exclusive CPUs and does not have the label
// numalet.dev/exclusive-cpus. It returns what is wrong, or "" if nothing is wrong. The node must
// still list the resources of the NUMA nodes, with the amount 0: the kubelet does not remove a
// resource whose device plugin has ended.
func nothingPublished(node *corev1.Node) string {
	if label, ok := node.Labels[v1alpha1.LabelExclusiveCPUs]; ok {
		return "labelled " + v1alpha1.LabelExclusiveCPUs + "=" + label
	}
	return cmp.Diff(map[int]int64{0: 0, 1: 0, 2: 0, 3: 0}, perNUMA(node.Status.Allocatable))
}

// awaitCount waits until a container may use exactly n CPUs, and returns these CPUs.
func awaitCount(ctx context.Context, t *testing.T, pod, container string, n int) cpuset.Set {
	t.Helper()
	for {
		samples := newest(ctx, t, pod, container).Samples
		got := samples[len(samples)-1].CPUs
		if got.Len() == n {
			return got
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s/%s sees %v, want %d CPUs", pod, container, got, n)
		case <-time.After(300 * time.Millisecond):
		}
	}
}
