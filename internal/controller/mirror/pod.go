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

// read returns a pod's request for the scheduler, and its request for exclusive CPUs. If one of
// them is invalid, it returns an error, and a request that has only the fields of every pod.
func read(pod *corev1.Pod) (*sched.Pod, v1alpha1.CPURequest, error) {
	amounts, excess := requests(pod)
	p := &sched.Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Requests: amounts, Profile: pod.Spec.SchedulerName,
	}
	request, err := v1alpha1.ReadCPURequest(pod)
	if err = errors.Join(excess, err); err != nil {
		return p, request, err
	}
	p.CPUPolicy, p.Exclusive, p.Seed = request.Policy, request.Containers, seed(p.UID)
	return p, request, nil
}

// pendingPod is a pending pod with the part of its request that depends only on the pod itself.
type pendingPod struct {
	*corev1.Pod
	request *sched.Pod // is never changed
	invalid error      // what is wrong with the request
}

// readPending reads a pending pod's request.
func (m *Mirror) readPending(pod *corev1.Pod) pendingPod {
	p, _, invalid := read(pod)
	var errs [4]error
	p.GPUs, errs[0] = gpuRequest(pod, p.Requests, m.env.GPUs)
	p.Candidates, errs[1] = candidates(pod)
	p.Gang, errs[2] = gangOf(pod)
	errs[3] = m.env.Filters.ReadPod(pod, p)
	p.Tenant = m.tenant(pod)
	return pendingPod{pod, p, errors.Join(invalid, errors.Join(errs[:]...), unforged(pod))}
}

// unforged refuses a pending pod that carries a placement: only a binding may set it.
func unforged(pod *corev1.Pod) error {
	if _, placed := pod.Annotations[v1alpha1.AnnotationPlacement]; placed {
		return fmt.Errorf("the pod carries the annotation %s, which comes with its binding and from nobody else; remove it", v1alpha1.AnnotationPlacement)
	}
	return nil
}

// seed returns the random seed of a pod. It depends only on the UID, so that every leader gets the
// same random numbers.
func seed(uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// MaxCandidates is how many nodes a pod may name as its candidates. Each scheduling attempt reads
// all of them.
const MaxCandidates = 4096

// candidates returns the node names that a pod is restricted to, or nil if the pod names none.
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
