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
	"github.com/numalet/numalet/pkg/topology"
)

// TestNodeTopology checks that the agent publishes the CPUs and NUMA nodes of the machine in a
// NodeTopology object, and that the Node owns this object.
func TestNodeTopology(t *testing.T) {
	ctx := start(t, time.Minute)
	node, err := cluster.API.CoreV1().Nodes().Get(ctx, cluster.Node(), metav1.GetOptions{})
	must(t, err)
	got, err := cluster.Topology(ctx, cluster.Node())
	must(t, err)
	if owner := got.OwnerReferences; len(owner) != 1 || owner[0].Kind != "Node" || owner[0].UID != node.UID {
		t.Errorf("owned by %+v, want node %s", owner, node.UID)
	}
	machine := v1alpha1.Machine{Packages: 2, NUMANodes: 4, Cores: 8, ThreadsPerCore: 2, ReservedCPUs: "0-1"}
	if diff := cmp.Diff(machine, got.Status.Machine); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
	for i, numaNode := range got.Status.NUMA {
		if want := int32(min(4, 2+2*i)); numaNode.ID != int32(i) || numaNode.Capacity != 4 || numaNode.Allocatable != want || numaNode.Memory.Value() < 1<<30 {
			t.Errorf("NUMA node %d: %+v", i, numaNode)
		}
	}
}

// awaitTopology polls the NodeTopology of the node until the function given as `wrong` accepts its
// status. This function returns what is wrong, or "" if nothing is wrong.
func awaitTopology(ctx context.Context, t *testing.T, wrong func(v1alpha1.NodeTopologyStatus) string) {
	t.Helper()
	for {
		got, err := cluster.Topology(ctx, cluster.Node())
		must(t, err)
		complaint := wrong(got.Status)
		if complaint == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("NodeTopology %s (-want +got):\n%s", cluster.Node(), complaint)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// available returns the available CPUs of each NUMA node according to the NodeTopology.
func available(ctx context.Context, t *testing.T) map[topology.NodeID]int {
	t.Helper()
	got, err := cluster.Topology(ctx, cluster.Node())
	must(t, err)
	return availableOf(got.Status)
}

func availableOf(status v1alpha1.NodeTopologyStatus) map[topology.NodeID]int {
	n := map[topology.NodeID]int{}
	for _, node := range status.NUMA {
		n[topology.NodeID(node.ID)] = int(node.Available)
	}
	return n
}

// published returns the CPUs of a pod's containers according to the NodeTopology.
func published(status v1alpha1.NodeTopologyStatus, pod *corev1.Pod) map[string]string {
	cpus := map[string]string{}
	for _, p := range status.Pods {
		if p.UID != string(pod.UID) {
			continue
		}
		for _, container := range p.Containers {
			cpus[container.Name] = container.CPUs
		}
	}
	return cpus
}
