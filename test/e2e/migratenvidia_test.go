//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestMigrateFromNVIDIA migrates a node from NVIDIA's device plugin with the steps in
// docs/tasks/other-projects.md, once with and once without draining the node. The device plugin is
// NVIDIA's own program. The driver of the four GPUs is a fake.
func TestMigrateFromNVIDIA(t *testing.T) {
	t.Run("Drained", migrateDrained)
	t.Run("Undrained", migrateUndrained)
}

// migrateDrained checks that the same pod gets a GPU from NVIDIA's device plugin and, after the
// migration, from Numalet's device plugin. A second pod gets the other GPUs.
func migrateDrained(t *testing.T) {
	ctx := start(t, 20*time.Minute, "same", "others")
	withNVIDIA(ctx, t)
	checkLooks(ctx, t, place(ctx, t, wholeGPUPod("same", 1)), 1)

	drain(ctx, t)
	removeNVIDIA(ctx, t)
	withGPUs(ctx, t, "four.layout", map[string]int64{whole: 4})
	kubectl(ctx, t, "uncordon", cluster.Node())
	checkGets(ctx, t, wholeGPUPod("same", 1), 1)
	checkGets(ctx, t, wholeGPUPod("others", 3), 3)
}

// migrateUndrained checks a pod that runs during the migration. It keeps the GPU that NVIDIA's
// device plugin gave it: the kubelet and the NodeTopology list this GPU as the pod's, and another
// pod gets all other GPUs. But when the pod's container starts again, the agent hides the GPU from
// it.
func migrateUndrained(t *testing.T) {
	ctx := start(t, 20*time.Minute, "keeps", "others", "next")
	withNVIDIA(ctx, t)
	keeps := wholeGPUPod("keeps", 1)
	keeps.Spec.RestartPolicy = corev1.RestartPolicyAlways
	before := checkLooks(ctx, t, place(ctx, t, keeps), 1)

	removeNVIDIA(ctx, t)
	withGPUs(ctx, t, "four.layout", map[string]int64{whole: 4})
	awaitGPUHolder(ctx, t, "keeps", before)
	killNow(ctx, t, "probe")
	again, err := cluster.Await(ctx, "keeps", func(p *corev1.Pod) bool {
		return e2eutil.Running(p) && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	must(t, err)
	if saw := look(ctx, t, again, "c0")["gpus"]; saw != "void" {
		t.Errorf("after its restart, the container sees %q, want void", saw)
	}

	got := slices.Concat(held(ctx, t, "keeps"), checkGets(ctx, t, wholeGPUPod("others", 3), 3))
	if !slices.Equal(got[:1], before) || !slices.Equal(slices.Sorted(slices.Values(got)), wholeGPUs()[:4]) {
		t.Errorf("the pods keeps and others have %v, want %v and the three other GPUs", got, before)
	}
	must(t, cluster.Delete(ctx, "keeps"))
	if got := checkGets(ctx, t, wholeGPUPod("next", 1), 1); !slices.Equal(got, before) {
		t.Errorf("the pod next has %v, want the GPU of the deleted pod, %v", got, before)
	}
}

// wholeGPUPod returns a pod with n whole GPUs, which the controller schedules.
func wholeGPUPod(name string, n int) *corev1.Pod {
	return ofTenant(gpuPod(name, time.Hour, map[string]int{whole: n}), "")
}

// checkGets creates a pod with n GPUs, and checks that it has the GPUs that the controller chose.
// It returns these GPUs.
func checkGets(ctx context.Context, t *testing.T, pod *corev1.Pod, n int) []string {
	t.Helper()
	return checkVisible(ctx, t, place(ctx, t, pod), n)
}

// withNVIDIA installs the fake driver and NVIDIA's device plugin, and waits until the node has four
// GPUs. The plugin is removed when the test ends.
func withNVIDIA(ctx context.Context, t *testing.T) {
	t.Helper()
	t.Cleanup(func() { deleteNVIDIA(context.Background(), t) })
	must(t, cluster.Script(ctx, "./gpu/nvidia", "four.layout"))
	awaitNode(ctx, t, allocatable(map[string]int64{whole: 4}))
}

// removeNVIDIA deletes the DaemonSet of NVIDIA's device plugin, and waits until the node has no
// GPUs.
func removeNVIDIA(ctx context.Context, t *testing.T) {
	t.Helper()
	deleteNVIDIA(ctx, t)
	awaitNode(ctx, t, allocatable(map[string]int64{whole: 0}))
}

func deleteNVIDIA(ctx context.Context, t *testing.T) {
	t.Helper()
	kubectl(ctx, t, "delete", "--namespace=kube-system", "--ignore-not-found", "--cascade=foreground", "daemonset/nvidia-device-plugin-daemonset")
}

// awaitGPUHolder waits until the NodeTopology lists the GPUs as those of the pod.
func awaitGPUHolder(ctx context.Context, t *testing.T, pod string, gpus []string) {
	t.Helper()
	awaitTopology(ctx, t, func(status v1alpha1.NodeTopologyStatus) string {
		if slices.ContainsFunc(status.GPUHolders, func(h v1alpha1.GPUHolder) bool { return h.Name == pod && slices.Equal(h.Devices, gpus) }) {
			return ""
		}
		return fmt.Sprintf("it does not list %v as the GPUs of %s: %+v", gpus, pod, status.GPUHolders)
	})
}
