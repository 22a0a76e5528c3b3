package mirror

import (
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// requests returns what a pod counts for on its node, by kube-scheduler's rules:
// init containers, sidecars, overhead and pod-level resources are included. During an
// in-place resize the larger of the old and the new amount counts. The error names the amounts that
// are too large to count.
func requests(pod *corev1.Pod) (sched.Amounts, error) {
	list := resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true})
	a := amounts(list)
	a.Pods = 1
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(list)) {
		errs = append(errs, v1alpha1.CheckAmount(name, list[name]))
	}
	return a, errors.Join(errs...)
}

// amounts reads a resource list and skips zero quantities.
func amounts(list corev1.ResourceList) sched.Amounts {
	var a sched.Amounts
	others := map[string]int64{}
	for name, quantity := range list {
		switch {
		case quantity.IsZero():
		case name == corev1.ResourceCPU:
			a.CPU = sched.MilliCPU(v1alpha1.MilliAmount(quantity))
		case name == corev1.ResourceMemory:
			a.Memory = sched.Bytes(v1alpha1.Amount(quantity))
		case name == corev1.ResourcePods:
			a.Pods = int(v1alpha1.Amount(quantity))
		default:
			others[string(name)] = v1alpha1.Amount(quantity)
		}
	}
	a.Extended = sched.ExtendedOf(others)
	return a
}
