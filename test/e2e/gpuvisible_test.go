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

// checkVisible checks that the GPUs of the container c0 of a pod are those that the controller chose,
// that the container sees exactly the GPUs and MIG slices that the kubelet has allocated to the pod,
// and that there are n of them. It returns their IDs.
func checkVisible(ctx context.Context, t *testing.T, pod *corev1.Pod, n int) []string {
	t.Helper()
	mustHold(ctx, t, pod)
	return checkLooks(ctx, t, pod, n)
}

// checkLooks is checkVisible for a pod whose GPUs the controller did not choose.
func checkLooks(ctx context.Context, t *testing.T, pod *corev1.Pod, n int) []string {
	t.Helper()
	saw := strings.Split(look(ctx, t, pod, "c0")["gpus"], ",")
	slices.Sort(saw)
	if diff := cmp.Diff(held(ctx, t, pod.Name), saw); diff != "" || len(saw) != n {
		t.Fatalf("%s sees %d GPUs, want %d (-kubelet +seen):\n%s", pod.Name, len(saw), n, diff)
	}
	return saw
}

// held returns the GPUs and MIG slices that the kubelet has allocated to a pod, sorted.
func held(ctx context.Context, t *testing.T, pod string) (ids []string) {
	t.Helper()
	all, err := cluster.Holders(ctx)
	must(t, err)
	for _, h := range all {
		if h.Pod == pod && strings.HasPrefix(h.Resource, "nvidia.com/") {
			ids = append(ids, h.IDs...)
		}
	}
	slices.Sort(ids)
	return ids
}
