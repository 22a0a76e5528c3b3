//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// wholeGPUs returns the IDs of the GPUs that are not in MIG mode, ordered by NUMA node. The first
// two are on the first NUMA node, the next two on the second, and so on.
func wholeGPUs() (ids []string) {
	for i := range 6 {
		ids = append(ids, fmt.Sprintf("GPU-fa4e000%d-0000-0000-0000-000000000000", i))
	}
	return ids
}

func gpuNames(n int) (names []string) {
	for i := range n {
		names = append(names, gpuName(i))
	}
	return names
}

func gpuName(i int) string { return fmt.Sprintf("gpu-%03d", i) }

// gpuPod returns a pod with a container for each request: c0, c1 and so on. The containers have
// shared CPUs and report the GPUs that they see.
func gpuPod(name string, life time.Duration, requests ...map[string]int) *corev1.Pod {
	var containers []e2eutil.Container
	for i := range requests {
		containers = append(containers, e2eutil.Container{Name: fmt.Sprint("c", i), CPU: "10m"})
	}
	pod := e2eutil.Once(e2eutil.Pod(name, "", containers...))
	for i, gpus := range requests {
		delete(pod.Spec.Containers[i].Resources.Limits, corev1.ResourceCPU)
		request(&pod.Spec.Containers[i], life, gpus)
	}
	return pod
}

// request adds GPUs to the requests of a container, and makes the container report the GPUs
// that it sees.
func request(container *corev1.Container, life time.Duration, gpus map[string]int) {
	container.Command = []string{"/probe", "see", "-for", life.String()}
	limits := maps.Clone(container.Resources.Limits)
	for name, count := range gpus {
		limits[corev1.ResourceName(name)] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	container.Resources.Limits = limits
}

// ofTenant sets the controller as the scheduler of a pod. It also sets the pod's tenant,
// unless the parameter `tenant` is "".
func ofTenant(pod *corev1.Pod, tenant string) *corev1.Pod {
	pod.Spec.SchedulerName = e2eutil.Scheduler
	if tenant != "" {
		pod.Labels = map[string]string{v1alpha1.LabelTenant: tenant}
	}
	return pod
}

// gpusOf returns the GPUs that the controller chose for each container of a pod, from the placement
// annotation.
func gpusOf(t *testing.T, pod *corev1.Pod) map[string][]string {
	t.Helper()
	decided, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement])
	if err != nil {
		t.Errorf("pod %s: %v", pod.Name, err)
	}
	gpus := map[string][]string{}
	for name, container := range decided.Containers {
		if len(container.GPUs) > 0 {
			gpus[name] = slices.Sorted(slices.Values(container.GPUs))
		}
	}
	return gpus
}

// checkHolds checks that the kubelet reports the GPUs that the controller chose for each container
// of a pod. It also checks that no GPU is allocated twice on the node. It returns false if the kubelet
// does not answer or reports no GPUs for the pod, for example because the pod has ended.
func checkHolds(ctx context.Context, t *testing.T, pod *corev1.Pod) bool {
	t.Helper()
	all, err := cluster.Holders(ctx)
	if err != nil {
		t.Errorf("holders: %v", err)
		return false
	}
	for _, sentence := range e2eutil.GivenTwice(all) {
		t.Error(sentence)
	}
	held := map[string][]string{}
	for _, h := range all {
		if h.Pod == pod.Name && h.Resource == whole {
			held[h.Container] = h.IDs
		}
	}
	if len(held) == 0 {
		return false
	}
	if diff := cmp.Diff(gpusOf(t, pod), held); diff != "" {
		t.Errorf("%s has GPUs (-decided +kubelet):\n%s", pod.Name, diff)
	}
	return true
}

// mustHold calls checkHolds for a pod that runs, and fails the test if the kubelet reports no GPUs
// for it.
func mustHold(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if !checkHolds(ctx, t, pod) {
		t.Errorf("the kubelet says of %s that it has no GPUs", pod.Name)
	}
}

// checkSaw checks that the containers of a pod that has ended saw the GPUs that the controller
// chose.
func checkSaw(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	saw := map[string][]string{}
	for _, c := range pod.Status.ContainerStatuses {
		if ended := c.State.Terminated; ended != nil {
			saw[c.Name] = strings.Split(seen(ended.Message)["gpus"], ",")
		}
	}
	if diff := cmp.Diff(gpusOf(t, pod), saw); diff != "" {
		t.Errorf("%s sees GPUs (-decided +seen):\n%s", pod.Name, diff)
	}
}

// look returns the GPUs, CPUs and memory nodes that a running container sees, in a map with the
// keys "gpus", "cpus" and "mems".
func look(ctx context.Context, t *testing.T, pod *corev1.Pod, container string) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(ctx, "kubectl", "exec", pod.Name, "-c", container, "--", "/probe", "see").Output()
	if err != nil {
		t.Fatalf("kubectl exec %s: %v", pod.Name, err)
	}
	return seen(string(out))
}

// seen parses the output of `probe see`: a name and a value in each line.
func seen(text string) map[string]string {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[name] = value
	}
	return said
}
