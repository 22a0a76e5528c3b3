//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
)

// gpuLoud checks that the agent refuses a container whose manifest sets the environment variable
// NVIDIA_VISIBLE_DEVICES to "all".
func gpuLoud(ctx context.Context, t *testing.T) {
	pod := ofTenant(gpuPod("loud", time.Hour, map[string]int{whole: 1}), "")
	pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: v1alpha1.EnvGPUs, Value: "all"})
	_, err := cluster.Create(ctx, pod)
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, pod.Name, eventReason, `container "c0" sets `+v1alpha1.EnvGPUs+` to "all"`))
	must(t, cluster.Delete(ctx, pod.Name))
}

// checkVisible checks that a container sees exactly the two devices that the kubelet allocated to
// it: a whole GPU and a MIG slice.
func checkVisible(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	mustHold(ctx, t, pod)
	all, err := cluster.Holders(ctx)
	must(t, err)
	var given []string
	for _, h := range all {
		if h.Pod == pod.Name && strings.HasPrefix(h.Resource, "nvidia.com/") {
			given = append(given, h.IDs...)
		}
	}
	saw := strings.Split(look(ctx, t, pod, "c0")["gpus"], ",")
	slices.Sort(given)
	slices.Sort(saw)
	if diff := cmp.Diff(given, saw); diff != "" || len(given) != 2 {
		t.Errorf("the container sees other GPUs than the kubelet gave it (-kubelet +container):\n%s%v", diff, given)
	}
}
