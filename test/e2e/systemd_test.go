//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestDaemonReload checks that `systemctl daemon-reload` changes no cpuset. On a daemon-reload,
// systemd writes the cpusets of all units again. If the agent had changed only the cgroup of a
// container, and not the systemd unit of the container, systemd would restore the container's old
// CPUs. The test has a container with exclusive CPUs, and two shared containers that lost CPUs
// after their start: one of a Guaranteed pod, and one of a Burstable pod.
func TestDaemonReload(t *testing.T) {
	needSystemd(t)
	ctx := start(t, 5*time.Minute, "shared", "crowd", "held")
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, e2eutil.Crowd("crowd", 1))
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	left := cpuset.Range(0, 15).Minus(born(ctx, t, "held", "c"))
	awaitCPUs(ctx, t, "shared", "c", left)
	inPod := 2 // the container and the sandbox
	if *flavour == "crio" {
		inPod = 1 // CRI-O gives the sandbox no process
	}
	crowd(ctx, t, inPod).await(ctx, t, left)
	checkReload(ctx, t)
	checkLives(ctx, t)
}

// TestSystemBus restarts D-Bus, over which the agent sets cpusets in systemd. It checks that the
// agent reconnects: new pods get exclusive CPUs, and systemd knows the cpusets of all containers.
func TestSystemBus(t *testing.T) {
	needSystemd(t)
	ctx := start(t, 5*time.Minute, "shared", "first", "second")
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	_, err := cluster.Shell(ctx, "systemctl restart dbus")
	must(t, err)
	left := cpuset.Range(0, 15)
	for _, name := range []string{"first", "second"} {
		create(ctx, t, e2eutil.Pod(name, "single", e2eutil.Container{Name: "c", CPU: "2"}))
		cpus := born(ctx, t, name, "c")
		if cpus.Len() != 2 || !cpus.SubsetOf(left) {
			t.Errorf("%s was born on %v, want two of %v", name, cpus, left)
		}
		left = left.Minus(cpus)
		awaitCPUs(ctx, t, "shared", "c", left)
	}
	checkReload(ctx, t)
	checkLives(ctx, t)
}

func needSystemd(t *testing.T) {
	t.Helper()
	init, err := cluster.Shell(t.Context(), "cat /proc/1/comm")
	must(t, err)
	if strings.TrimSpace(init) != "systemd" {
		t.Skip("the machine has no systemd: run with -flavour systemd")
	}
}

// checkReload checks that `systemctl daemon-reload` changes no cpuset of a container.
func checkReload(ctx context.Context, t *testing.T) {
	t.Helper()
	before := cpusets(ctx, t)
	_, err := cluster.Shell(ctx, "systemctl daemon-reload")
	must(t, err)
	time.Sleep(2 * time.Second) // systemd applies the reloaded units after it has answered
	if diff := cmp.Diff(before, cpusets(ctx, t)); diff != "" {
		t.Errorf("cpusets before and after daemon-reload (-before +after):\n%s", diff)
	}
}

// cpusets lists the effective cpuset of every container's cgroup.
func cpusets(ctx context.Context, t *testing.T) []string {
	t.Helper()
	out, err := cluster.Shell(ctx, "cd /sys/fs/cgroup && find kubepods.slice -name 'cri*.scope' | sort | while read d; do echo $d $(cat $d/cpuset.cpus.effective); done")
	must(t, err)
	if out == "" {
		t.Fatal("no container's cgroup was found")
	}
	return strings.Split(strings.TrimSpace(out), "\n")
}
