package hollowcluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
)

// placed returns a pod with a placement of its only container.
func placed(name, container string) corev1.Pod {
	pod := Pod("default", name, "", "1", 0)
	pod.UID, pod.Annotations[v1alpha1.AnnotationPlacement] = types.UID(name), `{"version":1,"containers":{"main":`+container+`}}`
	return *pod
}

// TestHold checks what a NodeTopology lists for three pods on a node with CPUs 0-3 and 4-7, of which
// CPU 0 is reserved.
func TestHold(t *testing.T) {
	shape := Shape{NUMA: 2, CPUs: 4, GPUs: 2, Model: "T4"}
	got := shape.topology(shape.Named("n")).Status
	err := hold(&got, []corev1.Pod{
		placed("c", `{"gpus":["GPU-n-1"]}`), placed("b", `{"cpus":{"0":1,"1":1}}`), placed("a", `{"cpus":{"0":2},"gpus":["GPU-n-0"]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := shape.topology(shape.Named("n")).Status
	want.Conditions[0].LastTransitionTime = got.Conditions[0].LastTransitionTime
	want.CPUs.Available, want.NUMA[0].Available, want.NUMA[1].Available = 3, 0, 3
	want.Pods = []v1alpha1.PodCPUs{
		{UID: "a", Namespace: "default", Name: "a", Containers: []v1alpha1.ContainerCPUs{{Name: "main", CPUs: "1-2"}}},
		{UID: "b", Namespace: "default", Name: "b", Containers: []v1alpha1.ContainerCPUs{{Name: "main", CPUs: "3-4"}}},
	}
	want.GPUHolders = []v1alpha1.GPUHolder{
		{UID: "a", Namespace: "default", Name: "a", Devices: []string{"GPU-n-0"}}, {UID: "c", Namespace: "default", Name: "c", Devices: []string{"GPU-n-1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	full := shape.topology(shape.Named("n")).Status
	if err := hold(&full, []corev1.Pod{placed("a", `{"cpus":{"0":4}}`)}); err == nil || !strings.Contains(err.Error(), "4 CPUs of NUMA node 0, where 3 are free") {
		t.Errorf("4 CPUs of 3: %v", err)
	}
}
