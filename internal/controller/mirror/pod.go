package mirror

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/podspec"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// read returns what a pod asks for, in both forms. Where it asks badly the error says
// so, and the result has only what every pod has.
func read(pod *corev1.Pod) (*sched.Pod, v1alpha1.Ask, error) {
	p := &sched.Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Requests: requests(pod), Candidates: candidates(pod), Profile: pod.Spec.SchedulerName,
	}
	ask, err := v1alpha1.ReadAsk(pod)
	if err != nil {
		return p, ask, err
	}
	p.CPUPolicy, p.Seed = policy(ask.Policy), seed(p.UID)
	for _, c := range ask.Containers {
		p.Exclusive = append(p.Exclusive, want(c))
	}
	return p, ask, nil
}

// unforged refuses a pod that carries a decision before it is bound: nobody has
// made it.
func unforged(pod *corev1.Pod) error {
	if _, placed := pod.Annotations[v1alpha1.AnnotationPlacement]; placed {
		return fmt.Errorf("the pod carries the annotation %s, which comes with its binding and from nobody else; remove it", v1alpha1.AnnotationPlacement)
	}
	return nil
}

func want(c v1alpha1.ContainerAsk) podspec.Container {
	return podspec.Container{Name: c.Name, Kind: asKind(c.Kind), CPUs: c.CPUs, PerNode: byNode(c.PerNode), MemoryBytes: c.MemoryBytes}
}

func asKind(k v1alpha1.ContainerKind) podspec.Kind {
	return [...]podspec.Kind{v1alpha1.App: podspec.App, v1alpha1.Init: podspec.Init, v1alpha1.Sidecar: podspec.Sidecar}[k]
}

// byNode returns the counts by NUMA node; nil stays nil.
func byNode(counts map[int]int) map[topology.NodeID]int {
	if counts == nil {
		return nil
	}
	by := make(map[topology.NodeID]int, len(counts))
	for id, cpus := range counts {
		by[topology.NodeID(id)] = cpus
	}
	return by
}

func policy(name string) podspec.Policy {
	switch name {
	case v1alpha1.PolicySpread:
		return podspec.Spread
	case v1alpha1.PolicySingle:
		return podspec.Single
	}
	return podspec.Random
}

// seed draws for the policy random: equal for a pod, whoever leads.
func seed(uid string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return h.Sum64()
}

// candidates returns the only nodes allowed, nil where the pod names none.
func candidates(pod *corev1.Pod) []string {
	list, ok := pod.Annotations[v1alpha1.AnnotationCandidateNodes]
	if !ok {
		return nil
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names[name] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(names))...)
}
