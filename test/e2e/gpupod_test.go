//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/e2e/kit"
)

// cards are those that nobody has.
type cards struct {
	mu   sync.Mutex
	rand *rand.Rand
	free []string
	seen atomic.Int32 // pods that the kubelet was asked about while they ran
}

// take draws cards, and waits until there are as many. They are in order.
func (c *cards) take(count int) []string {
	for ; ; time.Sleep(100 * time.Millisecond) {
		c.mu.Lock()
		if len(c.free) >= count {
			break
		}
		c.mu.Unlock()
	}
	defer c.mu.Unlock()
	c.rand.Shuffle(len(c.free), func(i, j int) { c.free[i], c.free[j] = c.free[j], c.free[i] })
	ids := slices.Sorted(slices.Values(c.free[:count]))
	c.free = slices.Clone(c.free[count:])
	return ids
}

func (c *cards) put(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, ids...)
}

// wholeCards returns the cards that are not in MIG mode, two a NUMA node.
func wholeCards() (ids []string) {
	for i := range 6 {
		ids = append(ids, fmt.Sprintf("GPU-fa4e000%d-0000-0000-0000-000000000000", i))
	}
	return ids
}

func gpuNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("gpu-%03d", i))
	}
	return names
}

// gpuPod is a pod with a container that shares its CPUs and says what it sees.
func gpuPod(name string, life time.Duration, gpus map[string]int) *corev1.Pod {
	pod := kit.Once(kit.Pod(name, "", kit.Container{Name: "c", CPU: "10m"}))
	delete(pod.Spec.Containers[0].Resources.Limits, corev1.ResourceCPU)
	ask(pod, life, gpus)
	return pod
}

// ask gives a pod's container GPUs, and lets it say what it sees.
func ask(pod *corev1.Pod, life time.Duration, gpus map[string]int) {
	c := &pod.Spec.Containers[0]
	c.Command = []string{"/probe", "see", "-for", life.String()}
	limits := maps.Clone(c.Resources.Limits)
	for name, count := range gpus {
		limits[corev1.ResourceName(name)] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	c.Resources.Limits = limits
}

// bindGPUs makes a pod that no scheduler takes, and places its container.
func bindGPUs(ctx context.Context, t *testing.T, pod *corev1.Pod, decided v1alpha1.ContainerPlacement) {
	t.Helper()
	pod.Spec.SchedulerName = "nobody"
	text, err := v1alpha1.FormatPlacement(map[string]v1alpha1.ContainerPlacement{"c": decided})
	if err != nil {
		t.Errorf("placement of %s: %v", pod.Name, err)
	}
	controller, err := cluster.As("system:serviceaccount:numalet-system:numalet-controller")
	if err == nil {
		_, err = cluster.Create(ctx, pod)
	}
	if err == nil {
		err = controller.CoreV1().Pods(cluster.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Annotations: map[string]string{v1alpha1.AnnotationPlacement: text}},
			Target:     corev1.ObjectReference{Kind: "Node", Name: cluster.Node()},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Errorf("place %s: %v", pod.Name, err)
	}
}

// checkHolds checks what the kubelet says that a pod has, and that nothing was given
// twice. It returns false where that was not to be seen: the pod ended meanwhile.
func checkHolds(ctx context.Context, t *testing.T, pod, resource string, ids []string) bool {
	t.Helper()
	all, err := cluster.Holders(ctx)
	if err != nil {
		t.Errorf("holders: %v", err)
		return false
	}
	for _, sentence := range kit.GivenTwice(all) {
		t.Error(sentence)
	}
	i := slices.IndexFunc(all, func(h kit.Holding) bool { return h.Pod == pod && h.Resource == resource })
	if i < 0 {
		return false
	}
	if diff := cmp.Diff(ids, all[i].IDs); diff != "" {
		t.Errorf("%s has GPUs (-decided +kubelet):\n%s", pod, diff)
	}
	return true
}

// seen reads what a container said that it sees.
func seen(pod *corev1.Pod) map[string]string {
	said := map[string]string{}
	if ended := pod.Status.ContainerStatuses[0].State.Terminated; ended != nil {
		for line := range strings.Lines(ended.Message) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			said[name] = value
		}
	}
	return said
}
