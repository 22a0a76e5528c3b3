package filters

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// sharedAmounts computes the amounts of resources only once for pods with equal requests. To compute
// them anew for each pod, as the function podInfo does, takes tens of microseconds if the pods request
// GPUs, because kube-scheduler's code matches the names of extended resources with regular
// expressions. Pods are often created many at a time from one template, so only the amounts of a few
// pods are kept. Any goroutine may call its methods.
type sharedAmounts struct {
	mu     sync.Mutex
	recent [8]*framework.PodInfo // the pods whose amounts were computed last
	oldest int                   // index in `recent`
}

// podInfo returns the same data as the function podInfo.
func (s *sharedAmounts) podInfo(pod *v1.Pod) (*framework.PodInfo, error) {
	if !dependsOnRequests(pod) {
		return podInfo(pod)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.recent {
		if known != nil && sameRequests(known.Pod.Spec.Containers, pod.Spec.Containers) {
			info := *known // with the amounts, which are in a field that is not exported
			info.Pod = pod
			return &info, nil
		}
	}
	info, err := podInfo(pod)
	s.recent[s.oldest] = info
	s.oldest = (s.oldest + 1) % len(s.recent)
	return info, err
}

// dependsOnRequests reports whether the PodInfo of a pod, apart from its field Pod, depends only on
// the requests of the pod's containers. This excludes pods with affinity terms, and pods whose
// amounts also depend on other fields of the spec or on the status.
func dependsOnRequests(pod *v1.Pod) bool {
	s := &pod.Spec
	return s.Affinity == nil && len(s.InitContainers) == 0 && s.Overhead == nil && s.Resources == nil &&
		!started(&pod.Status) && len(pod.Status.NodeAllocatableResourceClaimStatuses) == 0
}

// sameRequests reports whether the containers in two lists have equal requests, one by one.
func sameRequests(a, b []v1.Container) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !maps.EqualFunc(a[i].Resources.Requests, b[i].Resources.Requests, resource.Quantity.Equal) {
			return false
		}
	}
	return true
}
