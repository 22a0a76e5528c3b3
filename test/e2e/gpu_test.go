//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const (
	whole  = "nvidia.com/gpu"
	small  = "nvidia.com/mig-1g.10gb"
	medium = "nvidia.com/mig-2g.20gb"
)

// TestGPU runs the GPU tests on a node with eight fake GPUs, two of them in MIG mode. The tenants
// ann, ben and eve have a GPU group each.
func TestGPU(t *testing.T) {
	limit := 10*time.Minute + time.Duration(*gpuPods)*30*time.Second
	ctx := start(t, limit, append(gpuNames(*gpuPods), "aligned", "stranger", "greedy", "over", "next", "first", "second", "loud", "beside", "held", "after", "cdi")...)
	withGPUs(ctx, t, "eight.layout", map[string]int64{whole: 6, small: 2, medium: 1})
	withGroups(ctx, t)
	t.Run("Churn", func(t *testing.T) { gpuChurn(ctx, t) })
	t.Run("Groups", func(t *testing.T) { gpuGroups(ctx, t) })
	t.Run("Rejected", func(t *testing.T) { gpuRejected(ctx, t) })
	t.Run("Loud", func(t *testing.T) { gpuLoud(ctx, t) })
	t.Run("Fault", func(t *testing.T) { gpuFault(ctx, t) })
	t.Run("Driver", func(t *testing.T) { gpuDriver(ctx, t) })
	t.Run("CDI", func(t *testing.T) { gpuCDI(ctx, t) })
}

// withGPUs installs the fake NVIDIA driver and numalet-nvml, the program that reads the GPUs. It
// waits until each GPU resource of the node has the given amount. When the test ends, it disables
// GPUs again, and checks that the agent removes the condition about GPUs from the Node. If the test
// has failed, withGPUs first prints the log of the device plugin, which is lost when GPUs are
// disabled.
func withGPUs(ctx context.Context, t *testing.T, layout string, want map[string]int64) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			out, err := exec.Command("kubectl", "--namespace", system, "logs", "daemonset/numalet", "-c", "deviceplugin", "--tail=200").CombinedOutput() // the function numalet would end this cleanup after an error
			t.Logf("the log of the device plugin (%v):\n%s", err, out)
		}
		must(t, cluster.Script(context.Background(), "./gpu/remove"))
		rollOut(context.Background(), t)
		removed, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		awaitNode(removed, t, gpuCondition(""))
	})
	must(t, cluster.Script(ctx, "./gpu/install", layout))
	awaitNode(ctx, t, allocatable(want))
}

// allocatable returns a function that compares the allocatable amounts of a node with the given
// amounts. It ignores other resources.
func allocatable(want map[string]int64) func(*corev1.Node) string {
	return func(node *corev1.Node) string {
		got := map[string]int64{}
		for name := range want {
			q := node.Status.Allocatable[corev1.ResourceName(name)]
			got[name] = q.Value()
		}
		return cmp.Diff(want, got)
	}
}

// withGroups creates the GPU groups of gpu/groups.yaml, and deletes them when the test ends.
func withGroups(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Cleanup(func() { must(t, cluster.Script(context.Background(), "./gpu/groups", "delete")) })
	must(t, cluster.Script(ctx, "./gpu/groups", "apply"))
}
