package mirror

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// read converts a pod to a sched.Pod. If the resources or the CPU request of the pod are invalid,
// the function returns an error. The sched.Pod then has only the fields that do not depend on the
// CPU request.
func read(pod *corev1.Pod) (*sched.Pod, error) {
	amounts, request, err := readRequests(pod)
	p := &sched.Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Requests: amounts, Profile: pod.Spec.SchedulerName,
	}
	if err == nil {
		p.CPUPolicy, p.Exclusive, p.Seed = request.Policy, request.Containers, seed(p.UID)
	}
	return p, err
}

// readRequests returns the amounts of resources that a pod requests, and its request for exclusive
// CPUs. The error says what is invalid. The amounts are usable even with an error.
func readRequests(pod *corev1.Pod) (sched.Amounts, v1alpha1.CPURequest, error) {
	amounts, excess := requests(pod)
	request, err := v1alpha1.ReadCPURequest(pod)
	return amounts, request, errors.Join(excess, err)
}

// pendingPod is a pending pod, with the part of its request that does not depend on other objects.
type pendingPod struct {
	*corev1.Pod
	request *sched.Pod // must not be changed
	invalid error      // why the request is invalid; nil if it is valid
}

// readPending reads the request of a pending pod.
func (m *Mirror) readPending(pod *corev1.Pod) pendingPod {
	p, invalid := read(pod)
	var errs [4]error
	p.GPUs, errs[0] = gpuRequest(pod, p.Requests, m.env.GPUs)
	p.Candidates, errs[1] = candidates(pod)
	p.Gang, errs[2] = gangOf(pod)
	errs[3] = m.env.Filters.ReadPod(pod, p)
	p.Tenant = m.tenant(pod)
	return pendingPod{pod, p, errors.Join(invalid, errors.Join(errs[:]...), unforged(pod))}
}

// unforged returns an error if a pending pod has a placement annotation, because only the
// controller's Binding may set this annotation.
func unforged(pod *corev1.Pod) error {
	if _, placed := pod.Annotations[v1alpha1.AnnotationPlacement]; placed {
		return fmt.Errorf("the pod carries the annotation %s, which comes with its binding and from nobody else; remove it", v1alpha1.AnnotationPlacement)
	}
	return nil
}

// seed returns the random seed of a pod. The seed depends only on the pod's UID, so that a new
// leader uses the same random numbers for the pod as the former leader.
func seed(uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// MaxCandidates is how many nodes a pod may name in its annotation for candidate nodes. The limit
// keeps scheduling fast, because each scheduling attempt reads all nodes that the pod names.
const MaxCandidates = 4096

// candidates returns the nodes that a pod names in its annotation for candidate nodes, sorted. It
// returns nil if the pod does not have this annotation.
func candidates(pod *corev1.Pod) ([]string, error) {
	list, ok := pod.Annotations[v1alpha1.AnnotationCandidateNodes]
	if !ok {
		return nil, nil
	}
	if n := 1 + strings.Count(list, ","); n > MaxCandidates {
		return nil, fmt.Errorf("the annotation %s lists %d nodes, and at most %d are read; select nodes by a label instead, with nodeSelector or affinity",
			v1alpha1.AnnotationCandidateNodes, n, MaxCandidates)
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names[name] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(names))...), nil
}
