package hollowcluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
)

// The function `on` returns a pod that is bound to a node, with 2 CPUs of NUMA node 0 and 3 of NUMA
// node 1. If `node` is "", the pod is not bound.
func on(node, name string) *corev1.Pod {
	pod := Pod("default", name, "", "5", 1)
	pod.UID = types.UID(name)
	if node != "" {
		pod.Spec.NodeName = node
		pod.Annotations[v1alpha1.AnnotationPlacement] = `{"version":1,"containers":{"main":{"cpus":{"0":2,"1":3}}}}`
	}
	return pod
}

// withGPU returns a pod on node a. Its placement has the same GPU for an init container and for the
// main container.
func withGPU(name string) *corev1.Pod {
	pod := Pod("default", name, "", "1", 1)
	pod.UID, pod.Spec.NodeName = types.UID(name), "a"
	pod.Annotations[v1alpha1.AnnotationPlacement] = `{"version":1,"containers":{"init":{"gpus":["G1"]},"main":{"gpus":["G1"]}}}`
	return pod
}

func TestLedger(t *testing.T) {
	shape := Shape{NUMA: 2, CPUs: 5, GPUs: 2}
	ended, moved := on("a", "one"), on("b", "one")
	ended.Status.Phase = corev1.PodFailed
	for name, tc := range map[string]struct {
		events []watch.Event
		want   string // the error after the last of these events of a watch; the events before it cause no error
		bound  int
	}{
		"waits":        {[]watch.Event{{Type: watch.Added, Object: on("", "one")}}, "", 0},
		"fits":         {[]watch.Event{{Type: watch.Added, Object: on("a", "one")}, {Type: watch.Added, Object: on("b", "two")}}, "", 2},
		"seen twice":   {[]watch.Event{{Type: watch.Added, Object: on("a", "one")}, {Type: watch.Modified, Object: on("a", "one")}}, "", 1},
		"moves":        {[]watch.Event{{Type: watch.Added, Object: on("a", "one")}, {Type: watch.Modified, Object: moved}}, "is now {b", 1},
		"full":         {[]watch.Event{{Type: watch.Added, Object: on("a", "one")}, {Type: watch.Added, Object: on("a", "two")}}, "6000 of 5000 thousandths of numalet.dev/numa1-cpu", 2},
		"after a dead": {[]watch.Event{{Type: watch.Added, Object: ended}, {Type: watch.Added, Object: on("a", "two")}}, "", 2},
		"after a gone": {[]watch.Event{
			{Type: watch.Added, Object: on("a", "one")}, {Type: watch.Deleted, Object: on("a", "one")}, {Type: watch.Added, Object: on("a", "two")},
		}, "", 2},
		"has a GPU":    {[]watch.Event{{Type: watch.Added, Object: withGPU("one")}}, "", 1},
		"same GPU":     {[]watch.Event{{Type: watch.Added, Object: withGPU("one")}, {Type: watch.Added, Object: withGPU("two")}}, "2000 of 1000 thousandths of gpu/G1", 2},
		"no such node": {[]watch.Event{{Type: watch.Added, Object: on("c", "one")}}, "node c holds with pod one 5000 of 0 thousandths of cpu", 1},
	} {
		t.Run(name, func(t *testing.T) {
			room := AmountsOf(shape.resources(0))
			l := &Ledger{Room: map[string]Amounts{"a": room, "b": room}}
			var err error
			for _, event := range tc.events {
				if err != nil {
					t.Fatal(err)
				}
				_, err = l.See(event)
			}
			if said := ""; err != nil && (tc.want == "" || !strings.Contains(err.Error(), tc.want)) || err == nil && tc.want != said {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if l.Bound() != tc.bound {
				t.Errorf("%d bound, want %d", l.Bound(), tc.bound)
			}
		})
	}
}

// TestPeak checks that later containers reuse the CPUs of an init container, but not those of a
// sidecar, which keeps its CPUs.
func TestPeak(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "side", RestartPolicy: &always}, {Name: "first"}},
		Containers:     []corev1.Container{{Name: "main"}, {Name: "beside"}},
	}}
	decided := v1alpha1.Placement{Containers: map[string]v1alpha1.ContainerPlacement{
		"side": {CPUs: map[topology.NodeID]int{0: 1}}, "first": {CPUs: map[topology.NodeID]int{0: 4, 1: 1}}, "main": {CPUs: map[topology.NodeID]int{0: 2, 1: 2}}, "beside": {},
	}}
	if diff := cmp.Diff(map[topology.NodeID]int{0: 5, 1: 2}, peak(pod, decided)); diff != "" {
		t.Errorf("peak (-want +got):\n%s", diff)
	}
}
