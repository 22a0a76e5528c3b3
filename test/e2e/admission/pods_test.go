//go:build e2e

package admission

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const tolerance = "tolerate-missing-nri-plugins.noderesource.dev"

// pod returns a Guaranteed pod with 4 CPUs and one annotation. No scheduler handles this pod,
// because its schedulerName is unknown.
func pod(name, key, value string) *corev1.Pod {
	return complete(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{key: value}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name:      "main",
			Resources: corev1.ResourceRequirements{Limits: limits("4")},
		}}},
	})
}

// complete adds the fields that the API server requires and that the test cases leave out.
func complete(pod *corev1.Pod) *corev1.Pod {
	pod.Namespace = "default"
	pod.Spec.SchedulerName = "nobody"
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			list[i].Image = "localhost/none"
		}
	}
	return pod
}

func limits(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi")}
}
