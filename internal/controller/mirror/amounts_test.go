package mirror

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/numalet/numalet/pkg/sched"
)

// TestRequests checks that the requests of a pod are added up by kube-scheduler's rules.
func TestRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	resources := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity(cpu), "ephemeral-storage": quantity("1")}}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Resources: resources("1"), RestartPolicy: &always}, {Resources: resources("4")}},
		Containers:     []corev1.Container{{Resources: resources("2")}, {Resources: resources("500m")}},
		Overhead:       corev1.ResourceList{"cpu": quantity("250m")},
	}}
	got, err := requests(pod)
	if err != nil || got.CPU != 5250 || got.Pods != 1 || got.Extended.Of("ephemeral-storage") != 3 {
		t.Errorf("requests = %+v, %v; want 5250m CPU: sidecar 1, init 4, overhead 250m", got, err)
	}
}

// TestPlainRequests checks that the function `requests` returns for each pod what kube-scheduler's
// rules give. It also checks which pods are plain: such a pod takes exactly what its only container
// requests.
func TestPlainRequests(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": quantity(cpu), "memory": quantity(memory)}
	}
	status := func(allocated, actual corev1.ResourceList) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: allocated, Resources: &corev1.ResourceRequirements{Requests: actual}}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		plain  bool
	}{
		"not started":         {func(*corev1.Pod) {}, true},
		"runs as requested":   {status(list("2", "1Gi"), list("2", "1Gi")), true},
		"less is allocated":   {status(list("1", "1Gi"), list("1", "1Gi")), true},
		"more is allocated":   {status(list("3", "1Gi"), list("2", "1Gi")), false},
		"more is used":        {status(list("2", "1Gi"), list("2", "2Gi")), false},
		"other resource used": {status(nil, corev1.ResourceList{"example.com/a": quantity("1")}), false},
		"a sidecar": {func(pod *corev1.Pod) {
			always := corev1.ContainerRestartPolicyAlways
			pod.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: list("1", "1Gi")}}}
		}, false},
		"two containers": {func(pod *corev1.Pod) { pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0]) }, false},
		"overhead":       {func(pod *corev1.Pod) { pod.Spec.Overhead = list("1", "1Gi") }, false},
		"pod level":      {func(pod *corev1.Pod) { pod.Spec.Resources = &corev1.ResourceRequirements{Requests: list("4", "4Gi")} }, false},
		"infeasible resize": {func(pod *corev1.Pod) {
			status(list("1", "1Gi"), list("1", "1Gi"))(pod)
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: list("2", "1Gi")}}}}}
			tc.change(pod)
			want := amounts(resource.PodRequests(pod, kubeScheduler))
			want.Pods = 1
			if got, err := requests(pod); err != nil || !(sched.Holding{Amounts: got}).Equal(sched.Holding{Amounts: want}) {
				t.Errorf("requests = %+v, %v; want %+v", got, err, want)
			}
			if got := plain(pod); got != tc.plain {
				t.Errorf("plain = %t, want %t", got, tc.plain)
			}
		})
	}
}
