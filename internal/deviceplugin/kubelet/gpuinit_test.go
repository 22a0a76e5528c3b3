package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

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
		want          []bool        // whether the GPU counts as free (its shares are then healthy) at three times: within allocationGrace, when allocationGrace has passed, and at the later time of the field `after`
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

// TestAllocationWithoutTheKubelet checks that an allocation does not end while the kubelet does not
// answer, because the kubelet may have listed the device since its last answer.
func TestAllocationWithoutTheKubelet(t *testing.T) {
	now := time.Time{}
	g := newGPUs(HandOver{})
	g.Now, g.Pods = func() time.Time { return now }, func() ([]*corev1.Pod, bool) { return nil, true }
	if _, err := g.allocate(whole, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(allocationGrace + time.Second)
	before := previous{held: func(string) map[string]bool { return nil }}
	for _, step := range []struct {
		stale bool
		want  string // the shares of the GPU
	}{{true, "-a::0 -a::1"}, {false, "a::0 a::1"}} {
		before.stale = step.stale
		devices, err := g.list(before)
		if err != nil {
			t.Fatal(err)
		}
		if got := asShown(devices)[shares]; !strings.HasPrefix(got, step.want) {
			t.Errorf("shares %q, want %q and those of other GPUs", got, step.want)
		}
	}
}

// TestGPUsWhileTheKubeletStarts checks that a GPU counts as in use after the kubelet has restarted
// and does not list the pod that holds the GPU. It counts as free when the pod has ended, or when
// the kubelet lists the pod without the GPU.
func TestGPUsWhileTheKubeletStarts(t *testing.T) {
	running := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	ended := running.DeepCopy()
	ended.Status.Phase = corev1.PodSucceeded
	name := types.NamespacedName{Namespace: "ns", Name: "p"}
	for what, tc := range map[string]struct {
		pods   []*corev1.Pod                       // the node's pods when the kubelet has restarted
		listed map[types.NamespacedName]PodDevices // what the kubelet lists then
		want   string                              // the shares of the GPU that the pod held
	}{
		"the pod is not listed":        {pods: []*corev1.Pod{running}, want: "-a::0 -a::1"},
		"the pod has ended":            {pods: []*corev1.Pod{ended}, want: "a::0 a::1"},
		"the pod is gone":              {want: "a::0 a::1"},
		"the pod is listed without it": {[]*corev1.Pod{running}, map[types.NamespacedName]PodDevices{name: {}}, "a::0 a::1"},
	} {
		t.Run(what, func(t *testing.T) {
			g := newGPUs(HandOver{})
			g.Pods = func() ([]*corev1.Pod, bool) { return tc.pods, true }
			held := map[string]map[string]bool{whole: {"a": true}}
			of := func(resource string) map[string]bool { return held[resource] }
			if _, err := g.list(previous{held: of, pods: map[types.NamespacedName]PodDevices{name: {Devices: []string{"a"}}}}); err != nil {
				t.Fatal(err)
			}
			held = nil
			var devices map[string][]*pluginapi.Device
			for range 2 { // the device must stay in use for as long as the kubelet does not list the pod
				var err error
				if devices, err = g.list(previous{held: of, pods: tc.listed}); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(strings.Fields(asShown(devices)[shares])[:2], " "); got != tc.want {
				t.Errorf("the shares are %q, want %q", got, tc.want)
			}
			_, err := g.allocate(shares, []string{"a::0"})
			if refused := err != nil; refused != strings.HasPrefix(tc.want, "-") {
				t.Errorf("a share was allocated: %v", err)
			}
		})
	}
}
