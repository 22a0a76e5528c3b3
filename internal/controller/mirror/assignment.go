package mirror

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// assignment returns what a bound pod holds, and whether that is all: a pod that
// asks for exclusive CPUs and carries no placement holds what its node says
// (share), and until the node has said it, its requests. gpus is the resource of
// cards.
func assignment(pod *corev1.Pod, gpus string) (a nodestate.Assignment, all bool) {
	a = nodestate.Assignment{UID: string(pod.UID), Node: pod.Spec.NodeName, Tenant: tenant(pod), Gang: gangID(pod), Since: boundSince(pod)}
	a.Ends = ends(pod, a.Since)
	p, request, err := read(pod)
	_, placed := pod.Annotations[v1alpha1.AnnotationPlacement]
	switch {
	case err != nil:
		a.Amounts = p.Requests
	case !placed:
		a.Amounts, all = p.Requests, len(p.Exclusive) == 0
	default:
		a.Holding, all = placedHolding(pod, p, request)
	}
	if placed {
		a.Group = pod.Annotations[v1alpha1.AnnotationGPUGroup] // before that it is only what the pod asked for
	}
	a.Cards, a.Parts = int(a.Extended.Of(gpus)), partAsk(a.Amounts, gpus).Count
	return a, all
}

// placedHolding returns what a pod holds by the placement that it carries, and whether
// that can be read; else its requests.
func placedHolding(pod *corev1.Pod, p *sched.Pod, request v1alpha1.CPURequest) (h sched.Holding, ok bool) {
	decided, err := v1alpha1.ReadPlacement(pod, request)
	if err != nil {
		return sched.Holding{Amounts: p.Requests}, false
	}
	at := sched.Placement{Node: pod.Spec.NodeName, GPUs: decidedCards(decided)}
	for _, c := range request.Containers {
		at.Containers = append(at.Containers, sched.ContainerCPUs{Container: c.Name, PerNode: decided.Containers[c.Name].CPUs})
	}
	return sched.Hold(p, at), true
}

// tenant returns who a pod is charged to: whom its label names, else its namespace.
// Pods that a Deployment, a StatefulSet or a batch Job makes have the labels of its
// template.
func tenant(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels[v1alpha1.LabelTenant], pod.Namespace)
}

// boundSince returns since when a pod has been bound, to the second: the API server
// notes it with the bind. It is zero where nobody says, which means just now.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/storage/storage.go, setPodNodeAndMetadata.
func boundSince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return time.Time{}
}

// ends returns when a bound pod ends at the latest, zero where that is not known: its
// activeDeadlineSeconds after it was bound, which is a moment before its kubelet
// starts to count.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/active_deadline.go.
func ends(pod *corev1.Pod, since time.Time) time.Time {
	deadline := pod.Spec.ActiveDeadlineSeconds
	if deadline == nil || since.IsZero() {
		return time.Time{}
	}
	return since.Add(time.Duration(*deadline) * time.Second)
}
