//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestAppArmor checks that Numalet works on a node with AppArmor. The container of a pod with
// shared CPUs must have containerd's default profile. The agent must have no profile, because the
// DaemonSet sets its profile to Unconfined. When a second pod gets exclusive CPUs, the container
// with shared CPUs must lose these CPUs. The systemd units of both containers must have the CPUs
// that the agent assigned.
func TestAppArmor(t *testing.T) {
	needSystemd(t)
	ctx := start(t, 3*time.Minute, "plain", "held")
	if got := line(ctx, t, "cat /sys/module/apparmor/parameters/enabled"); got != "Y" {
		t.Fatalf("AppArmor is off: enabled is %q", got)
	}
	create(ctx, t, e2eutil.Pod("plain", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	if got, want := strings.TrimSpace(ofProbe(ctx, t, "plain", "cat /proc/$p/attr/current")), "cri-containerd.apparmor.d (enforce)"; got != want {
		t.Errorf("the container of a plain pod has the profile %q, want %q", got, want)
	}
	if got := line(ctx, t, "cat /proc/$(pidof numalet-agent)/attr/current"); got != "unconfined" {
		t.Errorf("the agent has the profile %q, want unconfined", got)
	}
	machine, err := cluster.Machine(ctx)
	must(t, err)
	held := born(ctx, t, "held", "c")
	shared := machine.Online().Minus(machine.Isolated()).Minus(held)
	awaitCPUs(ctx, t, "plain", "c", shared)
	for pod, want := range map[string]cpuset.Set{"plain": shared, "held": held} {
		if got := allowedCPUs(ctx, t, pod); !got.Equal(want) {
			t.Errorf("systemd has AllowedCPUs=%v for the container of %s, want %v", got, pod, want)
		}
	}
	checkLives(ctx, t)
}

// allowedCPUs returns the property AllowedCPUs of the systemd scope of a pod's container.
func allowedCPUs(ctx context.Context, t *testing.T, pod string) cpuset.Set {
	t.Helper()
	out := ofProbe(ctx, t, pod, "systemctl show --property AllowedCPUs --value $(basename $(cut -d: -f3 /proc/$p/cgroup))")
	cpus, err := cpuset.Parse(strings.ReplaceAll(strings.TrimSpace(out), " ", ","))
	must(t, err)
	return cpus
}

// line runs a shell command on the node and returns its output without the line break.
func line(ctx context.Context, t *testing.T, command string) string {
	t.Helper()
	out, err := cluster.Shell(ctx, command)
	must(t, err)
	return strings.TrimSpace(out)
}
