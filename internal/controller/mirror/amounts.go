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

// requests returns the amounts of resources that a pod takes on its node, by kube-scheduler's
// rules. The amounts include init containers, sidecars, overhead and pod-level resources. During an
// in-place resize of a container or of the whole pod, the largest of the requested, allocated and
// actual amounts counts. A requested amount does not count if the kubelet has found it infeasible.
// requests needs no feature gates: in a cluster in which resizes are disabled, the status of a pod
// does not have allocated and actual amounts. The error names each amount that is too large to be
// counted (see the function `excess`).
func requests(pod *corev1.Pod) (sched.Amounts, error) {
	list := resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true})
	a := amounts(list)
	a.Pods = 1
	return a, excess(list)
}

// excess returns an error that names each amount in a resource list that is too large to be
// counted. The error lists the amounts in a fixed order.
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

// amounts converts a Kubernetes resource list to sched.Amounts. It leaves out resources whose
// quantity is zero.
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
