//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestAlone checks an installation without the controller. There, kube-scheduler places pods, and
// the agent of the node assigns CPUs or refuses the pod.
func TestAlone(t *testing.T) {
	alone(t)
	t.Run("Policies", TestPolicies)
	t.Run("Mixed", TestMixed)
	t.Run("RefusedByNode", refusedByNode)
}

// alone upgrades the installation of Numalet to one without the controller. When the test ends, it
// installs the controller again.
func alone(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	installWith(ctx, t, "controller.enabled=false")
}

// installWith upgrades the installation to one with the given values of the chart. When the test
// ends, it installs Numalet with the chart's defaults again.
func installWith(ctx context.Context, t *testing.T, values ...string) {
	t.Helper()
	t.Cleanup(func() { install(context.Background(), t) })
	chart(ctx, t, values...)
	rollOut(ctx, t)
}

// install installs Numalet with the controller. It runs the commands in docs/tasks/administer.md.
func install(ctx context.Context, t *testing.T) {
	t.Helper()
	chart(ctx, t)
	rollOut(ctx, t)
	numalet(ctx, t, "rollout", "status", deployment, "--timeout=4m")
	time.Sleep(2 * time.Second) // the API server needs up to a second to compile changed policies
}

// chart installs or upgrades the Helm chart with the given values. All other values are the chart's
// defaults.
func chart(ctx context.Context, t *testing.T, values ...string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, "./chart", values...).CombinedOutput(); err != nil {
		t.Fatalf("install the chart with %v: %v: %s", values, err, out)
	}
}
