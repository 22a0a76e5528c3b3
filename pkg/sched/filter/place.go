package filter

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Place returns a pod's placement on a node, or the reason why the pod does not fit.
// Resources that are reserved for other pods do not count as free. Two calls with the
// same pod and the same record of the node return the same placement.
func Place(pod *sched.Pod, node *sched.Node) (sched.Placement, sched.Reason) {
	node = node.For(pod.Claim())
	at := sched.Placement{Node: node.Name}
	if r := plain(pod, node); r.Refuses() {
		return at, r
	}
	gpus, none := candidatesFor(pod, node)
	containers, r := exclusive(pod, node, gpus)
	switch {
	case r.Refuses():
		return at, r
	case none.Refuses():
		return at, none
	}
	at.Containers, at.GPUs, at.GPUGroup = containers, gpus.choose(pod, node, containers), gpus.group
	return at, sched.Reason{}
}

// Check returns the reason why a pod does not fit a node, or no reason if it fits. It
// returns the same reason as Place, but is faster, because it does not choose GPUs.
func Check(pod *sched.Pod, node *sched.Node) sched.Reason {
	node = node.For(pod.Claim())
	if r := plain(pod, node); r.Refuses() {
		return r
	}
	if !joins(pod) {
		if _, r := exclusive(pod, node, candidates{}); r.Refuses() {
			return r
		}
		return lacks(pod.GPUs, node)
	}
	gpus, none := candidatesFor(pod, node)
	if _, r := exclusive(pod, node, gpus); r.Refuses() {
		return r
	}
	return none
}

// plain checks whether the pod may use the node at all, and whether the amounts that
// the pod requests are free on the node. It does not check resources that the pod does
// not request. So a node with a negative free amount of a resource (overcommitted)
// still fits pods that do not request this resource.
func plain(pod *sched.Pod, node *sched.Node) sched.Reason {
	request, free := pod.Requests, node.Free
	switch {
	case pod.Candidates != nil && !slices.Contains(pod.Candidates, node.Name):
		return sched.Reason{Code: sched.NotCandidate}
	case pod.Avoid != nil && pod.Avoid(node.Name):
		return sched.Reason{Code: sched.Avoided}
	case request.Pods > 0 && request.Pods > free.Pods:
		return sched.Reason{Code: sched.Other, Detail: "Too many pods"}
	case request.CPU > 0 && request.CPU > free.CPU:
		return insufficient("cpu")
	case request.Memory > 0 && request.Memory > free.Memory:
		return insufficient("memory")
	}
	for name, amount := range request.Extended.All() {
		if amount > 0 && amount > free.Extended.Of(name) {
			return insufficient(name)
		}
	}
	return sched.Reason{}
}

func insufficient(resource string) sched.Reason {
	return sched.Reason{Code: sched.Insufficient, Detail: resource}
}
