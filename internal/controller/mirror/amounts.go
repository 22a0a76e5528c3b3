package mirror

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/numalet/numalet/pkg/sched"
)

// requests returns what a pod counts for on its node, by kube-scheduler's rules:
// init containers, sidecars, overhead and pod-level resources are included. During an
// in-place resize the larger of the old and the new amount counts.
func requests(pod *corev1.Pod) sched.Amounts {
	a := amounts(resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true}))
	a.Pods = 1
	return a
}

// amounts reads a resource list and skips zero quantities.
func amounts(list corev1.ResourceList) sched.Amounts {
	var a sched.Amounts
	others := map[string]int64{}
	for name, quantity := range list {
		switch {
		case quantity.IsZero():
		case name == corev1.ResourceCPU:
			a.CPU = sched.MilliCPU(quantity.MilliValue())
		case name == corev1.ResourceMemory:
			a.Memory = sched.Bytes(quantity.Value())
		case name == corev1.ResourcePods:
			a.Pods = int(quantity.Value())
		default:
			others[string(name)] = quantity.Value()
		}
	}
	a.Extended = sched.ExtendedOf(others)
	return a
}
