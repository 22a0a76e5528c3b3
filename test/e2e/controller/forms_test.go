//go:build e2e

package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/test/hollowcluster"
)

// ours returns a pod that the controller schedules.
func ours(name, cpus, policy string) *corev1.Pod {
	pod := hollowcluster.Pod("default", name, "numalet-scheduler", cpus, 0)
	if policy != "" {
		pod.Annotations[v1alpha1.AnnotationCPUPolicy] = policy
	}
	return pod
}

// TestForms checks that pods with different forms of CPU and GPU requests are bound. Those with
// exclusive CPUs must have a placement: the annotation that says how many CPUs each container gets
// on each NUMA node. A pod that does not fit the only node gets an event with the reason.
func TestForms(t *testing.T) {
	w := newWorld(t, 1, hollowcluster.Shape{NUMA: 2, CPUs: 8, GPUs: 2})
	named := explicit("explicit", "1", "2")
	named.Spec.SchedulerName = "" // the policy of deploy/controller/admission sets it to numalet-scheduler
	mixed := ours("mixed", "2", "single")
	mixed.Spec.Containers = append(mixed.Spec.Containers, container("beside", "100m"))
	mixed.Spec.InitContainers = []corev1.Container{container("first", "2")}
	gpu := hollowcluster.Pod("default", "gpu", "numalet-scheduler", "100m", 1)
	for _, pod := range []*corev1.Pod{named, ours("spread", "4", "spread"), mixed, ours("plain", "500m", ""), gpu} {
		w.create(pod)
	}
	want := map[string]string{
		"explicit": `{"version":1,"containers":{"main":{"cpus":{"0":1,"1":2}}}}`,
		"spread":   `{"version":1,"containers":{"main":{"cpus":{"0":2,"1":2}}}}`,
		"mixed":    "", // checked below, because a placement on either NUMA node is right
		"plain":    "",
		"gpu":      "",
	}
	w.await("all five are bound", func() bool {
		for name := range want {
			if w.pod(name).Spec.NodeName == "" {
				return false
			}
		}
		return true
	})
	got := map[string]string{}
	for name := range want {
		got[name] = w.pod(name).Annotations[v1alpha1.AnnotationPlacement]
	}
	if one := got["mixed"]; !strings.Contains(one, `"first":{"cpus":{"`) || !strings.Contains(one, `"main":{"cpus":{"`) || strings.Contains(one, "beside") {
		t.Errorf("placement of mixed: %s", one)
	}
	got["mixed"] = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("placements (-want +got):\n%s", diff)
	}
	w.create(ours("big", "7", "single"))
	w.await("the big pod's author hears why", func() bool { return w.event("big", "FailedScheduling") != "" })
	w.await("the authors of the others hear where", func() bool { return w.event("spread", "Scheduled") != "" })
	t.Log(w.event("big", "FailedScheduling"), "/", w.event("spread", "Scheduled"))
}

// event returns the message of an event on a pod with the given reason, or "" if there is none yet.
func (w *world) event(pod, reason string) string {
	w.Helper()
	list, err := w.api.EventsV1().Events("default").List(w.ctx, metav1.ListOptions{})
	w.must(err)
	for _, e := range list.Items {
		if e.Regarding.Name == pod && e.Reason == reason {
			return e.Note
		}
	}
	return ""
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }
