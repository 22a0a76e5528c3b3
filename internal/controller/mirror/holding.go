package mirror

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// holding returns what a bound pod holds, and whether that is all: a pod that
// asks for exclusive CPUs and carries no decision holds what its node says
// (share), and until the node has said it, its requests.
func holding(pod *corev1.Pod) (h sched.Holding, all bool) {
	p, err := read(pod)
	if err != nil {
		return sched.Holding{Amounts: p.Requests}, false
	}
	if _, placed := pod.Annotations[v1alpha1.AnnotationPlacement]; !placed {
		return sched.Holding{Amounts: p.Requests}, len(p.Exclusive) == 0
	}
	at, err := placement(pod)
	if err != nil {
		return sched.Holding{Amounts: p.Requests}, false
	}
	return sched.Hold(p, at), true
}

// placement reads the decision that a pod carries.
func placement(pod *corev1.Pod) (sched.Placement, error) {
	at := sched.Placement{Node: pod.Spec.NodeName}
	ask, err := v1alpha1.ReadAsk(pod)
	if err != nil {
		return at, err
	}
	decided, err := v1alpha1.ReadPlacement(pod, ask)
	if err != nil {
		return at, err
	}
	for _, c := range ask.Containers {
		at.Containers = append(at.Containers, sched.ContainerCPUs{Container: c.Name, PerNode: byNode(decided.Containers[c.Name].CPUs)})
	}
	at.GPUs = decidedCards(decided)
	return at, nil
}
