//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestPublish checks the CPUs that the node publishes for each NUMA node. The node's capacity
// includes every CPU. Its allocatable resources do not include the reserved CPUs 0 and 1, which are
// both on NUMA node 0.
func TestPublish(t *testing.T) {
	ctx := start(t, time.Minute)
	checkPublished(ctx, t, map[int]int64{0: 2, 1: 4, 2: 4, 3: 4})
}

// checkPublished checks the Node object of the node. Its capacity must have four CPUs for each NUMA
// node. Its allocatable resources must have the given number of CPUs for each NUMA node. Its label
// numalet.dev/exclusive-cpus must be "true".
func checkPublished(ctx context.Context, t *testing.T, allocatable map[int]int64) {
	t.Helper()
	node, err := cluster.API.CoreV1().Nodes().Get(ctx, cluster.Node(), metav1.GetOptions{})
	must(t, err)
	if diff := cmp.Diff(map[int]int64{0: 4, 1: 4, 2: 4, 3: 4}, perNUMA(node.Status.Capacity)); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(allocatable, perNUMA(node.Status.Allocatable)); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
	if got := node.Labels[v1alpha1.LabelExclusiveCPUs]; got != "true" {
		t.Errorf("label %s = %q, want true", v1alpha1.LabelExclusiveCPUs, got)
	}
}

func perNUMA(list corev1.ResourceList) map[int]int64 {
	counts := map[int]int64{}
	for name, quantity := range list {
		if node, ok := v1alpha1.ParseNUMAResource(string(name)); ok {
			counts[int(node)] = quantity.Value()
		}
	}
	return counts
}
