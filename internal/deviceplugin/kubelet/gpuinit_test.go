package kubelet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/pkg/gpu"
)

// warming returns a pod with an init container that requests a GPU. If the parameter
// `always` is true, the init container is a sidecar (restartPolicy Always), whose
// devices the kubelet lists.
func warming(name string, always bool) *corev1.Pod {
	c := corev1.Container{Name: "warm", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{whole: resource.MustParse("1")}}}
	if policy := corev1.ContainerRestartPolicyAlways; always {
		c.RestartPolicy = &policy
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{InitContainers: []corev1.Container{c}}}
}

// TestGPUsOfInitContainers checks that an allocated GPU that the kubelet does not list
// stays allocated until all pods that may hold it have ended.
func TestGPUsOfInitContainers(t *testing.T) {
	ended := func(pod *corev1.Pod) *corev1.Pod {
		pod.Status.Phase = corev1.PodSucceeded
		return pod
	}
	none := []*corev1.Pod{}
	for name, tc := range map[string]struct {
		before, after []*corev1.Pod // the node's pods when allocationGrace has passed, and at a later time; nil if the informer has not listed them
		listed        bool          // whether the kubelet lists the device within allocationGrace
		want          []bool        // whether the GPU counts as free, so that its shares are healthy; at three times: within allocationGrace, when allocationGrace has passed, and at the later time of the field `after`
	}{
		"of a pod that runs":            {before: []*corev1.Pod{warming("a", false)}, after: []*corev1.Pod{warming("a", false)}, want: []bool{false, false, false}},
		"of a pod that then ends":       {before: []*corev1.Pod{warming("a", false)}, after: []*corev1.Pod{ended(warming("a", false))}, want: []bool{false, false, true}},
		"of a pod that then is gone":    {before: []*corev1.Pod{warming("a", false)}, after: none, want: []bool{false, false, true}},
		"a later pod does not count":    {before: []*corev1.Pod{warming("a", false)}, after: []*corev1.Pod{warming("b", false)}, want: []bool{false, false, true}},
		"of one of two pods":            {before: []*corev1.Pod{warming("a", false), warming("b", false)}, after: []*corev1.Pod{warming("b", false)}, want: []bool{false, false, false}},
		"the pods are unknown":          {want: []bool{false, false, false}},
		"of a pod that was not started": {before: none, after: none, want: []bool{false, true, true}},
		"of a sidecar that is gone":     {before: []*corev1.Pod{warming("a", true)}, after: none, want: []bool{false, true, true}},
		"listed, and no more":           {listed: true, before: []*corev1.Pod{warming("a", false)}, after: none, want: []bool{false, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			now, pods, held := time.Time{}, tc.before, map[string]bool{}
			if tc.listed {
				held["a"] = true
			}
			g := NewGPUs(GPUOptions{
				Latest: func() *gpu.Inventory { return gpus() }, Resource: whole, Shares: 2, Changed: func() {}, Now: func() time.Time { return now },
				Pods: func() ([]*corev1.Pod, bool) { return pods, pods != nil },
			})
			if _, err := g.allocate(whole, []string{"a"}); err != nil {
				t.Fatal(err)
			}
			var got []bool
			free := func() {
				devices, err := g.list(previous{held: func(resource string) map[string]bool { return held }})
				if err != nil {
					t.Fatal(err)
				}
				_, refused := g.allocate(shares, []string{"a::0"})
				delete(g.mu.allocated, "a::0")
				if healthy := devices[shares][0].Health == "Healthy"; healthy != (refused == nil) {
					t.Errorf("the share is healthy: %v, and is refused: %v", healthy, refused)
				}
				got = append(got, refused == nil)
			}
			free()
			held, now = nil, now.Add(allocationGrace+time.Second)
			free()
			pods = tc.after
			free()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the GPU is free (-want +got):\n%s", diff)
			}
		})
	}
}
