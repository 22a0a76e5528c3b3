package mirror

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// boundPod is a bound pod with its assignment, which says what it holds.
type boundPod struct {
	*corev1.Pod
	assignment nodestate.Assignment
	all        bool // the pod's own fields say all that it holds
}

// readBound reads what a bound pod holds. If the pod was assigned before, it keeps its tenant, even
// if the label of the pod or of its Namespace has changed. Otherwise the change would charge the
// pod to another tenant.
func (m *Mirror) readBound(pod *corev1.Pod) boundPod {
	a, all := assignment(pod, m.env.GPUs)
	before := m.env.State.Assignment(a.UID)
	if a.Tenant = m.tenant(pod); before != nil {
		a.Tenant = before.Tenant
	}
	known, err := m.env.Filters.ReadBoundPod(pod, before)
	if err != nil {
		m.env.Odd(err)
	}
	a.Foreign = known
	return boundPod{pod, a, all}
}

// assignment returns what a bound pod holds, without its tenant. all reports whether the pod's own
// fields say all of it. They do not for a pod with exclusive CPUs but without a placement. Such a
// pod holds what the agent of its node reports for it. Until the agent reports, it holds its
// requests. The placement of a mirror pod is ignored, because admission policies cannot keep
// somebody from adding one that the controller did not decide. gpus is the resource of whole GPUs.
func assignment(pod *corev1.Pod, gpus string) (a nodestate.Assignment, all bool) {
	a = nodestate.Assignment{UID: string(pod.UID), Node: pod.Spec.NodeName, Gang: gangID(pod), Since: boundSince(pod)}
	a.Ends = ends(pod, a.Since)
	p, request, err := read(pod)
	_, placed := pod.Annotations[v1alpha1.AnnotationPlacement]
	placed = placed && !v1alpha1.IsMirror(pod)
	switch {
	case err != nil:
		a.Amounts = p.Requests
	case !placed:
		a.Amounts, all = p.Requests, len(p.Exclusive) == 0
	default:
		a.Holding, all = placedHolding(pod, p, request)
	}
	if placed {
		a.Group = pod.Annotations[v1alpha1.AnnotationGPUGroup] // without a placement, the annotation is only a request
	}
	a.WholeGPUs, a.Parts = int(a.Extended.Of(gpus)), partRequest(a.Amounts, gpus).Count
	return a, all
}

// placedHolding returns what a pod holds according to its placement. ok is false if the spec has
// changed since the Binding, because the pod may have been resized. Even after a resize back to the
// old size, its CPUs may be on other NUMA nodes. If the placement cannot be parsed, the pod holds
// its requests, and ok is false.
func placedHolding(pod *corev1.Pod, p *sched.Pod, request v1alpha1.CPURequest) (holding sched.Holding, ok bool) {
	changed := pod.Generation > 1
	if old, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement]); changed && err == nil {
		request = request.Sized(old)
	}
	decided, err := v1alpha1.ReadPlacement(pod, request)
	if err != nil {
		return sched.Holding{Amounts: p.Requests}, false
	}
	at := sched.Placement{Node: pod.Spec.NodeName, Containers: request.At(decided).Containers, GPUs: decidedGPUs(decided)}
	return sched.Hold(p, at), !changed
}

// tenant returns the tenant to which a pod is charged. This is the tenant in the pod's label, or
// else the tenant in the label of its Namespace, or else the name of the Namespace. The admission
// policies decide who may set the pod's label.
func (m *Mirror) tenant(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels[v1alpha1.LabelTenant], m.env.NamespaceTenant(pod.Namespace), pod.Namespace)
}

// boundSince returns when a pod was bound, to the second. The API server records this time when it
// handles the Binding. A zero time means that there is no record, so the pod was bound just now.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/storage/storage.go,
// setPodNodeAndMetadata.
func boundSince(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return time.Time{}
}

// ends returns when a bound pod ends at the latest: activeDeadlineSeconds after it was bound. In
// fact the kubelet begins to count slightly later. A zero time means that there is no deadline.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/active_deadline.go.
func ends(pod *corev1.Pod, since time.Time) time.Time {
	deadline := pod.Spec.ActiveDeadlineSeconds
	if deadline == nil || since.IsZero() {
		return time.Time{}
	}
	return since.Add(time.Duration(*deadline) * time.Second)
}
