package mirror

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// requests returns what a pod counts for on its node, by kube-scheduler's rules:
// init containers, sidecars, overhead and pod-level resources are included. During an
// in-place resize the larger of the old and the new amount counts. The error is that of excess.
func requests(pod *corev1.Pod) (sched.Amounts, error) {
	list := resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true})
	a := amounts(list)
	a.Pods = 1
	return a, excess(list)
}

// excess returns an error that names the amounts that are too large to count, sorted by its text.
func excess(list corev1.ResourceList) error {
	var errs []error
	for name, quantity := range list {
		if err := v1alpha1.CheckAmount(name, quantity); err != nil {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
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
