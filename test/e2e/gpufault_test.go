//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

const (
	// faulty is the only MIG slice of the profile 2g.20gb. It is on the GPU that gets a fault.
	faulty  = "MIG-fa4e0703-0000-0000-0000-000000000000"
	sickens = "xid GPU-fa4e0007-0000-0000-0000-000000000000 94 3 0"
)

// gpuFault injects a fault into one MIG slice of a GPU. Until the slice recovers, the node must
// publish it as unhealthy, both in the NodeTopology and as a condition of the Node. If another
// client removes the condition, the agent must set it again. A container that uses a whole GPU and
// a different slice must not be restarted.
func gpuFault(ctx context.Context, t *testing.T) {
	checkVisible(ctx, t, place(ctx, t, ofTenant(gpuPod("beside", time.Hour, map[string]int{whole: 1, small: 1}), "")), 2)
	_, err := cluster.Shell(ctx, "echo "+sickens+" >>/etc/fakenvml/layout.events")
	must(t, err)
	awaitTopology(ctx, t, func(status v1alpha1.NodeTopologyStatus) string { return cmp.Diff([]string{faulty}, unhealthy(status)) })
	awaitNode(ctx, t, allocatable(map[string]int64{whole: 6, small: 2, medium: 0}))
	awaitNode(ctx, t, gpuCondition("True Unhealthy "+faulty))
	awaitTopology(ctx, t, func(status v1alpha1.NodeTopologyStatus) string { return cmp.Diff([]string(nil), unhealthy(status)) })
	awaitNode(ctx, t, allocatable(map[string]int64{whole: 6, small: 2, medium: 1}))
	awaitNode(ctx, t, gpuCondition("False Healthy all GPUs"))
	_, err = cluster.API.CoreV1().Nodes().PatchStatus(ctx, cluster.Node(), fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"$patch":"delete"}]}}`, v1alpha1.NodeConditionGPUUnhealthy))
	must(t, err)
	awaitNode(ctx, t, gpuCondition("False Healthy all GPUs"))
	pod, err := cluster.Await(ctx, "beside", e2eutil.Running)
	must(t, err)
	if restarts := pod.Status.ContainerStatuses[0].RestartCount; restarts > 0 {
		t.Errorf("the container beside the fault was started %d times more", restarts)
	}
	must(t, cluster.Delete(ctx, "beside")) // it may have the only GPU that no group has, which the next subtest needs
}

// gpuCondition returns a function that checks the Node's condition about GPUs: the text of its
// status, reason and message must begin as given. If the text is "", the Node must not have the
// condition.
func gpuCondition(want string) func(*corev1.Node) string {
	return func(node *corev1.Node) string {
		got := ""
		for _, c := range node.Status.Conditions {
			if c.Type == v1alpha1.NodeConditionGPUUnhealthy {
				got = fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
			}
		}
		if got == "" && want == "" || want != "" && strings.HasPrefix(got, want) {
			return ""
		}
		return fmt.Sprintf("condition %s is %q, want %q", v1alpha1.NodeConditionGPUUnhealthy, got, want)
	}
}

func unhealthy(status v1alpha1.NodeTopologyStatus) (ids []string) {
	for _, gpu := range status.GPUs {
		if gpu.Health != "Healthy" {
			ids = append(ids, gpu.ID)
		}
	}
	return ids
}
