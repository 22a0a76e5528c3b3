//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestWide checks that a container gets 2 GPUs and 8 CPUs of one NUMA node. Only the second NUMA
// node of the machine has 2 GPUs and 8 CPUs available, so the container must get all of them.
func TestWide(t *testing.T) {
	if *flavour != "wide" {
		t.Skip("no NUMA node has 8 CPUs: run `make e2e-wide`")
	}
	ctx := start(t, 8*time.Minute, "aligned")
	withGPUs(ctx, t, "four.layout", map[string]int64{whole: 4})
	checkAligned(ctx, t, placeAligned(ctx, t, 8, ""), wholeGPUs()[2:4], "8-15")
}

// placeAligned starts a container with two GPUs, the given number of exclusive CPUs, and the CPU
// policy "single".
func placeAligned(ctx context.Context, t *testing.T, cpus int, tenant string) *corev1.Pod {
	t.Helper()
	pod := e2eutil.Once(e2eutil.Pod("aligned", "single", e2eutil.Container{Name: "c0", CPU: fmt.Sprint(cpus)}))
	request(&pod.Spec.Containers[0], time.Hour, map[string]int{whole: 2})
	return place(ctx, t, ofTenant(pod, tenant))
}

// checkAligned checks that the container c0 of a pod sees exactly the given GPUs and CPUs, and only
// memory of NUMA node 1. It also checks that the NodeTopology reports NUMA node 1 for these GPUs.
func checkAligned(ctx context.Context, t *testing.T, pod *corev1.Pod, gpus []string, cpus string) {
	t.Helper()
	mustHold(ctx, t, pod)
	want := map[string]string{"gpus": strings.Join(gpus, ","), "cpus": cpus, "mems": "1"}
	got := look(ctx, t, pod, "c0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the container sees (-want +got):\n%s", diff)
	}
	t.Logf("the container sees %v", got)
	topology, err := cluster.Topology(ctx, cluster.Node())
	must(t, err)
	for _, gpu := range topology.Status.GPUs {
		if slices.Contains(gpus, gpu.ID) && (gpu.NUMA == nil || *gpu.NUMA != 1) {
			t.Errorf("%s is on NUMA node %v, want 1", gpu.ID, gpu.NUMA)
		}
	}
}
