//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestOffline sets a shared CPU offline and online again. It checks that the agent restarts each
// time and discovers the CPUs of the machine again. A running pod with exclusive CPUs keeps them,
// new pods do not get the offline CPU, and the node publishes only the online CPUs.
func TestOffline(t *testing.T) {
	ctx := start(t, 10*time.Minute, "held", "shared", "without", "with")
	numalet(ctx, t, "rollout", "restart", "daemonset/numalet") // creates a new agent pod, whose count of restarts is 0, so that the kubelet does not delay the agent's restarts in this test (CrashLoopBackOff)
	rollOut(ctx, t)
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	held := born(ctx, t, "held", "c")
	victim := last(cpuset.Range(0, 15).Minus(held))
	t.Cleanup(func() { must(t, plug(context.Background(), victim, 1)) })

	awaitNewAgent(ctx, t, func() { must(t, plug(ctx, victim, 0)) })
	left := cpuset.Range(0, 15).Minus(cpuset.Of(victim))
	awaitNode(ctx, t, publishes(left))
	checkRoom(ctx, t, "without", left.Minus(held))

	awaitNewAgent(ctx, t, func() { must(t, plug(ctx, victim, 1)) })
	awaitNode(ctx, t, publishes(cpuset.Range(0, 15)))
	checkRoom(ctx, t, "with", cpuset.Range(0, 15).Minus(held))
	awaitCPUs(ctx, t, "held", "c", held)
	checkLives(ctx, t)
}

// checkRoom creates a pod with two exclusive CPUs. The pod must get these two CPUs from the set in
// the parameter `room`. The pod "shared" must then have the other CPUs of this set. Last, checkRoom
// deletes the created pod.
func checkRoom(ctx context.Context, t *testing.T, name string, room cpuset.Set) {
	t.Helper()
	create(ctx, t, e2eutil.Pod(name, "single", e2eutil.Container{Name: "c", CPU: "2"}))
	cpus := born(ctx, t, name, "c")
	if cpus.Len() != 2 || !cpus.SubsetOf(room) {
		t.Errorf("%s was born on %v, want two of %v", name, cpus, room)
	}
	awaitCPUs(ctx, t, "shared", "c", room.Minus(cpus))
	must(t, cluster.Delete(ctx, name))
	awaitCPUs(ctx, t, "shared", "c", room)
}

// plug sets a CPU of the machine offline if the parameter `online` is 0, or online if it is 1.
func plug(ctx context.Context, cpu cpuset.CPU, online int) error {
	_, err := cluster.Shell(ctx, fmt.Sprintf("echo %d >/sys/devices/system/cpu/cpu%d/online", online, cpu))
	return err
}

// awaitNewAgent changes the machine, and waits until the agent has restarted and is ready.
func awaitNewAgent(ctx context.Context, t *testing.T, change func()) {
	t.Helper()
	old, err := cluster.Shell(ctx, "pidof numalet-agent")
	must(t, err)
	since := time.Now()
	change()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for now := old; now == old || now == ""; {
		now, err = cluster.Shell(ctx, "sleep 1; pidof numalet-agent || true")
		must(t, err)
	}
	_, err = cluster.Shell(ctx, "/usr/local/bin/probe ready")
	must(t, err)
	t.Logf("another agent was ready after %.0f s", time.Since(since).Seconds())
}

// publishes returns a function that checks the CPUs that the node publishes for each NUMA node. The
// parameter `online` is the set of online CPUs. The capacity must be the number of these CPUs. The
// allocatable CPUs must be the same, except for NUMA node 0: two of its CPUs, 0 and 1, are
// reserved. The function returns what is wrong, or "".
func publishes(online cpuset.Set) func(*corev1.Node) string {
	capacity := map[int]int64{}
	for c := range online.All() {
		capacity[int(c)/4]++
	}
	allocatable := map[int]int64{0: capacity[0] - 2, 1: capacity[1], 2: capacity[2], 3: capacity[3]}
	return func(node *corev1.Node) string {
		return cmp.Diff(capacity, perNUMA(node.Status.Capacity)) + cmp.Diff(allocatable, perNUMA(node.Status.Allocatable))
	}
}

func last(cpus cpuset.Set) cpuset.CPU {
	all := cpus.Slice()
	return all[len(all)-1]
}
