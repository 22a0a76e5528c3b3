//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/internal/agent"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestMigrateFromStaticPolicy installs the agent on a node whose kubelet has the CPU manager policy
// "static" and has given exclusive CPUs to a pod. The agent must report this policy. Then the test
// migrates the node with the steps in docs/tasks/other-projects.md.
func TestMigrateFromStaticPolicy(t *testing.T) {
	needSystemd(t)
	ctx := start(t, 15*time.Minute, "before", "after", "shared")
	sendAway(ctx, t)
	t.Cleanup(func() {
		back, stop := context.WithTimeout(context.Background(), 3*time.Minute)
		defer stop()
		must(t, setManagers(back, "none", "none"))
	})
	must(t, requireAgent(ctx, false))
	t.Cleanup(func() { must(t, requireAgent(context.Background(), true)) })
	must(t, setManagers(ctx, "static", "single-numa-node"))
	create(ctx, t, e2eutil.Pod("before", "", e2eutil.Container{Name: "c", CPU: "2"}))
	if cpus := born(ctx, t, "before", "c"); cpus.Len() != 2 {
		t.Errorf("with the policy static, the pod was born on %v, want two CPUs", cpus)
	}

	must(t, selectNodes(ctx, "null"))
	awaitNodeEvent(ctx, t, "CPU manager policy is static")
	must(t, cluster.Copy(ctx, "../../build/bin/numalet", "/root/numalet"))
	report, err := cluster.Shell(ctx, "/root/numalet doctor --node")
	if err == nil || !strings.Contains(fmt.Sprint(report, err), "cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node") {
		t.Errorf("numalet doctor --node does not report the policies: %v\n%s", err, report)
	}

	drain(ctx, t)
	must(t, setManagers(ctx, "none", "none"))
	_, err = cluster.Shell(ctx, "/usr/local/bin/probe ready")
	must(t, err)
	kubectl(ctx, t, "uncordon", cluster.Node())
	create(ctx, t, e2eutil.Pod("after", "spread", e2eutil.Container{Name: "c", CPU: "4"}))
	create(ctx, t, e2eutil.Pod("shared", "", e2eutil.Container{Name: "c", CPU: "100m"}))
	cpus := born(ctx, t, "after", "c")
	if !slices.Equal(counts(cpus), []int{1, 1, 1, 1}) {
		t.Errorf("the pod was born on %v, want one CPU of each NUMA node", cpus)
	}
	awaitCPUs(ctx, t, "shared", "c", cpuset.Range(0, 15).Minus(cpus))
	checkLives(ctx, t)
}

// drain evicts the pods of the node. It needs --force, because the test's pods have no owner. The
// controller's pods stay: no other node can run them, so their PodDisruptionBudget forbids the
// eviction. When the test ends, the node can run pods again.
func drain(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Cleanup(func() { kubectl(context.Background(), t, "uncordon", cluster.Node()) })
	kubectl(ctx, t, "drain", cluster.Node(), "--ignore-daemonsets", "--force", "--pod-selector=app.kubernetes.io/name!=numalet-controller")
}

// setManagers stops the kubelet, sets the policies of its CPU manager and its Topology Manager,
// deletes the state of the CPU manager, and starts the kubelet.
func setManagers(ctx context.Context, cpu, topology string) error {
	_, err := cluster.Shell(ctx, "systemctl stop kubelet && cd /var/lib/kubelet && rm -f cpu_manager_state && "+
		"sed -i -e '/^topologyManagerPolicy:/d' -e 's/^cpuManagerPolicy:.*/cpuManagerPolicy: "+cpu+"\\ntopologyManagerPolicy: "+topology+"/' config.yaml && "+
		"systemctl start kubelet")
	return err
}

// awaitNodeEvent waits for a new event about the configuration of the Node. The message of the
// event must contain the given text. At its start, awaitNodeEvent deletes the older events.
func awaitNodeEvent(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	events := cluster.API.CoreV1().Events(metav1.NamespaceDefault)
	ofAgent := metav1.ListOptions{FieldSelector: "reason=" + agent.EventNodeConfig}
	must(t, events.DeleteCollection(ctx, metav1.DeleteOptions{}, ofAgent))
	for {
		list, err := events.List(ctx, ofAgent)
		must(t, err)
		if slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return strings.Contains(e.Message, text) }) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no event %s has %q; the events are %v", agent.EventNodeConfig, text, list.Items)
		case <-time.After(time.Second):
		}
	}
}
