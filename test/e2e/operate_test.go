//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestExplicit checks an installation without the controller, on a node that accepts only requests
// by NUMA node (such as numalet.dev/numa1-cpu). A pod gets its CPUs on the requested NUMA node. A
// pod waits if it requests more CPUs than are free on the requested NUMA node. The node refuses a
// pod with a CPU policy.
func TestExplicit(t *testing.T) {
	alone(t)
	ctx := start(t, 6*time.Minute, "two-on-1", "three-on-1", "policy")
	configure(ctx, t, "NUMALET_CPU_REQUEST_FORM=explicit")
	create(ctx, t, e2eutil.Pod("two-on-1", "", e2eutil.Container{Name: "c", CPU: "2", On: map[topology.NodeID]int{1: 2}}))
	cpus := born(ctx, t, "two-on-1", "c")
	if cpus.Len() != 2 || !cpus.SubsetOf(cpuset.Range(4, 7)) || !wholeCores(cpus) {
		t.Errorf("born on %v, want a core of NUMA node 1 (CPUs 4-7)", cpus)
	}
	_, err := cluster.Create(ctx, e2eutil.Pod("three-on-1", "", e2eutil.Container{Name: "c", CPU: "3", On: map[topology.NodeID]int{1: 3}}))
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "three-on-1", "FailedScheduling", "Insufficient numalet.dev/numa1-cpu"))
	_, err = cluster.Create(ctx, e2eutil.Pod("policy", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "policy", eventReason, "this node serves the explicit form"))
	must(t, cluster.Delete(ctx, "two-on-1"))
	_, err = cluster.Await(ctx, "three-on-1", e2eutil.Running)
	must(t, err)
	checkLives(ctx, t)
}

// TestUpgrade replaces the agent's pod, as every upgrade does. It checks that running containers
// keep their CPUs, and that the new agent knows all assignments.
func TestUpgrade(t *testing.T) {
	ctx := start(t, 5*time.Minute, "held", "shared", "later")
	create(ctx, t, e2eutil.Pod("held", "spread", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	before := born(ctx, t, "held", "c")
	numalet(ctx, t, "rollout", "restart", "daemonset/numalet")
	rollOut(ctx, t)
	create(ctx, t, e2eutil.Pod("later", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(before).Minus(born(ctx, t, "later", "c")))
	checkLives(ctx, t)
}

// TestSwitchedOff checks a node where exclusive CPUs are disabled with
// NUMALET_EXCLUSIVE_CPUS=false. The node publishes no exclusive CPUs and accepts no pod that
// requests exclusive CPUs. A pod that already runs keeps its exclusive CPUs until it ends.
func TestSwitchedOff(t *testing.T) {
	alone(t)
	ctx := start(t, 6*time.Minute, "held", "shared", "late")
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	before := born(ctx, t, "held", "c")
	configure(ctx, t, "NUMALET_EXCLUSIVE_CPUS=false")
	awaitNode(ctx, t, nothingPublished)
	_, err := cluster.Create(ctx, e2eutil.Pod("late", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "late", "FailedScheduling", "didn't match Pod's node affinity/selector"))
	numalet(ctx, t, "label", "node", cluster.Node(), v1alpha1.LabelExclusiveCPUs+"=true", "--overwrite")
	must(t, cluster.AwaitEvent(ctx, "late", eventReason, "exclusive CPUs are switched off on this node"))
	awaitCPUs(ctx, t, "held", "c", before)
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(before))
	must(t, cluster.Delete(ctx, "held"))
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15))
	checkLives(ctx, t)
}

// TestReboot resets the machine. It checks that the same pods then run on the same CPUs as before,
// and that the node publishes the same resources as before.
func TestReboot(t *testing.T) {
	ctx := start(t, 8*time.Minute, "held", "shared")
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	before := born(ctx, t, "held", "c")
	must(t, cluster.Forget(ctx)) // the clock of the records starts at zero again after the reset, so older records would seem newer than later ones
	must(t, cluster.Reboot(ctx))
	if after := born(ctx, t, "held", "c"); !after.Equal(before) {
		t.Errorf("held was born on %v, and after the reboot on %v", before, after)
	}
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(before))
	awaitNode(ctx, t, func(node *corev1.Node) string {
		return cmp.Diff(map[int]int64{0: 2, 1: 4, 2: 4, 3: 4}, perNUMA(node.Status.Allocatable))
	})
	checkLives(ctx, t)
}

// TestWithoutNRI checks the setting NUMALET_ENFORCE=cgroup, which is for runtimes without NRI (Node
// Resource Interface). With this setting, the agent writes the CPUs to the cgroups of containers,
// shortly after the containers have started.
func TestWithoutNRI(t *testing.T) {
	ctx := start(t, 8*time.Minute, "held", "shared")
	must(t, requireAgent(ctx, false))
	t.Cleanup(func() { must(t, requireAgent(context.Background(), true)) })
	configure(ctx, t, "NUMALET_ENFORCE=cgroup")
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	create(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"}))
	held := awaitCount(ctx, t, "held", "c", 4)
	if !wholeCores(held) || counts(held)[3] != 4 {
		t.Errorf("held runs on %v, want one NUMA node", held)
	}
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(held))
	must(t, cluster.Delete(ctx, "held"))
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15))
}
