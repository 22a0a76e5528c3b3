package mirror

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// tenant returns who a pod is charged to: whom its label names, else its namespace.
// Pods that a Deployment, a StatefulSet or a batch Job makes have the labels of its
// template.
func tenant(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels[v1alpha1.LabelTenant], pod.Namespace)
}

// user is a pod with cards, or parts of cards. Which model they are its node says,
// maybe later.
type user struct {
	task  fairshare.Task
	group string // that its cards were given from, or ""
	sched.Holding
}

// charge tells what a bound pod uses. It needs m.mu, as all below.
func (m *Mirror) charge(pod *corev1.Pod, h sched.Holding) {
	u := user{fairshare.Task{UID: string(pod.UID), Tenant: tenant(pod), Since: boundSince(pod)}, from(pod), h}
	n := m.node(pod.Spec.NodeName)
	if h.Extended.Of(m.env.GPUs) > 0 || partAsk(h.Amounts, m.env.GPUs).Count > 0 {
		n.users[u.task.UID] = u
	}
	m.start(u, n)
}

// recharge tells again what the pods with cards of a node use.
func (m *Mirror) recharge(n *node) {
	for _, u := range n.users {
		m.start(u, n)
	}
}

func (m *Mirror) start(u user, n *node) {
	u.task.Holds = m.holds(u.Holding, n.base)
	m.env.Tasks.Start(u.task)
	m.env.Quotas.Restore(u.task.UID, u.task.Tenant, group.Charges(u.task.Holds, u.group))
}

// from returns the group of which a bound pod has cards: its decision says so, and
// until then it is only what the pod asked for.
func from(pod *corev1.Pod) string {
	if _, placed := pod.Annotations[v1alpha1.AnnotationPlacement]; !placed {
		return ""
	}
	return pod.Annotations[v1alpha1.AnnotationGPUGroup]
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
