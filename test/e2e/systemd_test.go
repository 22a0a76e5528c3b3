//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/test/e2e/kit"
)

// TestDaemonReload: systemd writes all its units' cpusets again on a
// daemon-reload; none changes, neither an exclusive container's nor that of a
// shared one that was shrunk after it started.
func TestDaemonReload(t *testing.T) {
	if cluster.Flavour != "systemd" {
		t.Skip("the machine has no systemd: run with -flavour systemd")
	}
	ctx := start(t, 5*time.Minute, "shared", "held")
	create(ctx, t, kit.Pod("shared", "", kit.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, kit.Pod("held", "single", kit.Container{Name: "c", CPU: "4"}))
	before := cpusets(ctx, t)
	_, err := cluster.Shell(ctx, "systemctl daemon-reload")
	must(t, err)
	time.Sleep(2 * time.Second) // systemd applies what it has reloaded after it has answered
	if diff := cmp.Diff(before, cpusets(ctx, t)); diff != "" {
		t.Errorf("cpusets before and after daemon-reload (-before +after):\n%s", diff)
	}
	checkLives(ctx, t)
}

// cpusets lists the effective cpuset of every container's cgroup.
func cpusets(ctx context.Context, t *testing.T) []string {
	t.Helper()
	out, err := cluster.Shell(ctx, "cd /sys/fs/cgroup && find kubepods.slice -name 'cri-containerd-*.scope' | sort | while read d; do echo $d $(cat $d/cpuset.cpus.effective); done")
	must(t, err)
	if out == "" {
		t.Fatal("no container's cgroup was found")
	}
	return strings.Split(strings.TrimSpace(out), "\n")
}
