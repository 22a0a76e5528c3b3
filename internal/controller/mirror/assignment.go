package mirror

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// boundPod is a bound pod with its assignment, which says which resources the pod holds.
type boundPod struct {
	*corev1.Pod
	assignment nodestate.Assignment
	all        bool // whether the fields of the pod tell everything that it holds (see the function `assignment`)
}

// readBound reads which resources a bound pod holds, and to which tenant it is charged. A pod that
// was assigned before stays charged to the same tenant, even if the label of the pod or of its
// Namespace has changed since.
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

// assignment returns which resources a bound pod holds. It does not set the tenant. The result
// `all` is true if the fields of the pod itself tell everything that the pod holds. It is false,
// for example, for a pod with exclusive CPUs but without a placement. The placement is an
// annotation with the number of CPUs on each NUMA node and with the GPUs that the scheduler has
// decided for the pod. A pod without a placement holds what the agent of its node reports for the
// pod. Until the agent reports, the pod holds its requests.
//
// A mirror pod is the API object that a kubelet creates for a static pod. assignment ignores its
// placement, because no scheduler has decided it. The admission policy that refuses other new pods
// with a placement does not apply to mirror pods: a kubelet runs a static pod even if the mirror
// pod is refused.
//
// The parameter `gpus` is the name of the resource that counts whole GPUs.
func assignment(pod *corev1.Pod, gpus string) (a nodestate.Assignment, all bool) {
	a = nodestate.Assignment{UID: string(pod.UID), Node: pod.Spec.NodeName, Gang: gangID(pod), Since: boundSince(pod)}
	a.Ends = ends(pod, a.Since)
	amounts, request, err := readRequests(pod)
	_, placed := pod.Annotations[v1alpha1.AnnotationPlacement]
	placed = placed && !v1alpha1.IsMirror(pod)
	switch {
	case err != nil:
		a.Amounts = amounts
	case !placed:
		a.Amounts, all = amounts, len(request.Containers) == 0
	default:
		a.Holding, all = placedHolding(pod, amounts, request)
	}
	if placed {
		a.Group = pod.Annotations[v1alpha1.AnnotationGPUGroup] // without a placement, the annotation is only a request
	}
	a.WholeGPUs, a.Parts = int(a.Extended.Of(gpus)), partRequest(a.Amounts, gpus).Count
	return a, all
}

// placedHolding returns what a pod holds according to its placement. The result `ok` is false if
// the pod's spec has changed since the pod was created, because the pod may have been resized after
// the Binding. Even if it was resized back to the old size, its CPUs may now be on other NUMA
// nodes. `ok` is also false if the placement cannot be parsed. A pod with such a placement counts
// as holding its requests.
func placedHolding(pod *corev1.Pod, amounts sched.Amounts, request v1alpha1.CPURequest) (holding sched.Holding, ok bool) {
	p := &sched.Pod{Requests: amounts, CPUPolicy: request.Policy, Exclusive: request.Containers}
	changed := pod.Generation > 1
	if old, err := v1alpha1.ParsePlacement(pod.Annotations[v1alpha1.AnnotationPlacement]); changed && err == nil {
		request = request.Sized(old)
	}
	decided, err := v1alpha1.ReadPlacement(pod, request)
	if err != nil {
		return sched.Holding{Amounts: amounts}, false
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

// boundSince returns the time at which a pod was bound, in whole seconds. This is the time of the
// condition PodScheduled, which the API server sets when it handles the Binding. Without this
// condition, it is the time when the kubelet first saw the pod (status.startTime). A zero time
// means that the pod's status has neither.
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

// ends returns the approximate time when the kubelet ends a bound pod: activeDeadlineSeconds after
// the pod was bound. The kubelet may end the pod slightly later than that, because it begins to
// count when it has accepted the pod. A zero time means that there is no deadline, or that it is
// not known when the pod was bound.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/active_deadline.go.
func ends(pod *corev1.Pod, since time.Time) time.Time {
	deadline := pod.Spec.ActiveDeadlineSeconds
	if deadline == nil || since.IsZero() {
		return time.Time{}
	}
	return since.Add(time.Duration(*deadline) * time.Second)
}
