package mirror

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// SetPod tells how a pod is now.
func (m *Mirror) SetPod(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case v1alpha1.Ended(pod):
		m.forget(pod)
		m.env.Tasks.End(string(pod.UID))
	case pod.Spec.NodeName != "":
		m.bound(pod)
	case m.env.Ours(pod.Spec.SchedulerName) && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0:
		m.pending(pod)
	default:
		m.settle(pod)
	}
}

// RemovePod tells that there is no such pod any more. It needs the pod as it was
// last seen.
func (m *Mirror) RemovePod(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(pod)
	m.env.Tasks.Forget(string(pod.UID))
}

// These methods need m.mu.

// forget gives back what a pod held.
func (m *Mirror) forget(pod *corev1.Pod) {
	m.settle(pod)
	delete(m.mu.ends, string(pod.UID))
	m.env.Quotas.End(string(pod.UID)) // before the centre counts it as given back: who looks after that, sees both
	name := pod.Spec.NodeName
	if n, ok := m.mu.nodes[name]; ok {
		delete(n.unplaced, string(pod.UID))
		delete(n.users, string(pod.UID))
		m.tidy(name)
	}
	m.env.Filters.RemovePod(pod)
	if m.env.Center.Release(string(pod.UID)) && name != "" {
		m.env.Freed(name)
	}
}

// bound enters a pod where it is, whoever put it there.
func (m *Mirror) bound(pod *corev1.Pod) {
	uid, name := string(pod.UID), pod.Spec.NodeName
	delete(m.mu.asks, uid)
	m.env.Bound(uid, gangID(pod))
	if err := m.env.Filters.SetPod(pod); err != nil {
		m.env.Odd(err)
	}
	h, all := holding(pod)
	if all {
		m.env.Center.Adopt(uid, name, h)
	} else {
		n := m.node(name)
		n.unplaced[uid] = unplaced{onNode: v1alpha1.NodeUID(pod), Holding: h}
		m.adopt(uid, name, n)
	}
	m.charge(pod, h)
	m.limit(pod)
	m.env.Moved()
}

// pending queues a pod, once as long as it asks for the same.
func (m *Mirror) pending(pod *corev1.Pod) {
	uid := string(pod.UID)
	if before, ok := m.mu.asks[uid]; ok && sameAsk(before, pod) {
		return
	}
	m.mu.asks[uid] = pod
	m.ask(pod)
}

// ask queues a pod for what it asks for, or says what is wrong with that.
func (m *Mirror) ask(pod *corev1.Pod) {
	p, err := read(pod)
	cards, bad := m.cards(pod, p.Requests)
	p.GPUs, p.Tenant = cards, tenant(pod)
	gang, alone := gangOf(pod)
	p.Gang = gang
	err = errors.Join(err, bad, alone, unforged(pod), m.env.Complete(p, pod))
	if err != nil {
		m.env.Settled(p.UID)
		m.env.Refused(p, err)
		return
	}
	e := queue.Entry{Pod: p, Created: pod.CreationTimestamp.Time, Type: fairshare.TypeOf(p), Tenant: p.Tenant}
	if pod.Spec.Priority != nil {
		e.Priority = *pod.Spec.Priority
	}
	m.env.Pending(e)
}

// AskGPUs queues all pending pods that ask for GPUs anew: which they may have has
// changed. O(pending pods).
func (m *Mirror) AskGPUs() {
	m.askAgain(func(pod *corev1.Pod) bool { return len(wants(pod, m.env.GPUs)) > 0 })
}

// AskTenant queues all pending pods of a tenant anew: what they may have has changed.
// O(pending pods).
func (m *Mirror) AskTenant(name string) {
	m.askAgain(func(pod *corev1.Pod) bool { return tenant(pod) == name })
}

func (m *Mirror) askAgain(concerned func(*corev1.Pod) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pod := range m.mu.asks {
		if concerned(pod) {
			m.ask(pod)
		}
	}
}

// settle takes a pod out of the queue.
func (m *Mirror) settle(pod *corev1.Pod) {
	delete(m.mu.asks, string(pod.UID))
	m.env.Settled(string(pod.UID))
}
