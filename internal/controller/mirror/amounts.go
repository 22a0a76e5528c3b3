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

// kubeScheduler has the options with which kube-scheduler adds up the requests of a pod.
var kubeScheduler = resource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}

// requests returns the amounts of resources that a pod takes on its node, by kube-scheduler's
// rules. The amounts include init containers, sidecars, overhead and pod-level resources. During an
// in-place resize of a container or of the whole pod, the largest of the requested, allocated and
// actual amounts counts. A requested amount does not count if the kubelet has found it infeasible.
// The function needs no feature gates: in a cluster in which resizes are disabled, the status of a
// pod does not have allocated and actual amounts. The error names each amount that is too large to
// be counted (see the function `excess`).
func requests(pod *corev1.Pod) (sched.Amounts, error) {
	var list corev1.ResourceList
	if plain(pod) {
		list = pod.Spec.Containers[0].Resources.Requests
	} else {
		list = resource.PodRequests(pod, kubeScheduler)
	}
	a := amounts(list)
	a.Pods = 1
	return a, excess(list)
}

// plain reports whether a pod takes exactly what its only container requests. Most pods are plain.
// For a plain pod, the function `requests` does not call resource.PodRequests, which makes several
// maps and takes a large part of the time that the mirror needs for a bound pod.
func plain(pod *corev1.Pod) bool {
	spec := &pod.Spec
	if len(spec.Containers) != 1 || len(spec.InitContainers) > 0 || spec.Resources != nil || spec.Overhead != nil || resource.IsPodResizeInfeasible(pod) {
		return false
	}
	requested := spec.Containers[0].Resources.Requests
	return !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return exceeds(s.AllocatedResources, requested) || s.Resources != nil && exceeds(s.Resources.Requests, requested)
	})
}

// exceeds reports whether the amount of at least one resource is larger in a resource list than in
// the list `most`.
func exceeds(list, most corev1.ResourceList) bool {
	for name, quantity := range list {
		if quantity.Cmp(most[name]) > 0 {
			return true
		}
	}
	return false
}

// excess returns an error if amounts in a resource list are too large to be counted. The error
// names these amounts in a fixed order.
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
