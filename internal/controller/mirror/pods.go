package mirror

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// SetPod adds or updates a pod.
func (m *Mirror) SetPod(pod *corev1.Pod) {
	var pending pendingPod
	var bound boundPod
	ended := v1alpha1.Ended(pod)
	switch { // done before the lock is taken, because annotations of up to 256 KiB take long to read
	case ended:
	case pod.Spec.NodeName != "":
		bound = m.readBound(pod)
	case m.isPending(pod):
		pending = m.readPending(pod)
	}
	defer m.nominate(pod) // runs after the lock is released, and after a bound pod counts on its node
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ended:
		m.forget(pod)
		m.env.State.End(string(pod.UID))
	case bound.Pod != nil:
		m.bound(bound)
	case pending.Pod != nil:
		m.pending(pending)
	default:
		delete(m.mu.requests, string(pod.UID))
		m.env.Withdraw(string(pod.UID))
	}
}

// isPending reports whether the controller must find a node for a pod that has no node.
func (m *Mirror) isPending(pod *corev1.Pod) bool {
	return slices.Contains(m.env.Schedulers, pod.Spec.SchedulerName) && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0
}

// nominate tells the filters for which node another scheduler has nominated a pod
// (status.nominatedNodeName). If the pod is not pending, or if this controller schedules it,
// nominate tells them that there is no nomination.
func (m *Mirror) nominate(pod *corev1.Pod) {
	pending := pod
	if pod.Spec.NodeName != "" || slices.Contains(m.env.Schedulers, pod.Spec.SchedulerName) || pod.DeletionTimestamp != nil || v1alpha1.Ended(pod) {
		pending = nil
	}
	m.env.Filters.Nominate(pod.UID, pending)
}

// RemovePod removes a pod that was deleted. The argument `pod` is the last version of the pod.
func (m *Mirror) RemovePod(pod *corev1.Pod) {
	m.env.Filters.Nominate(pod.UID, nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(pod)
	m.env.State.Release(string(pod.UID))
}

// The caller of the methods from here to `complete` holds m.mu.

// forget removes what the mirror itself has stored about a pod. The caller updates the state of
// the nodes.
func (m *Mirror) forget(pod *corev1.Pod) {
	delete(m.mu.requests, string(pod.UID))
	if n, ok := m.mu.nodes[pod.Spec.NodeName]; ok {
		was := n.reported[string(pod.UID)]
		delete(n.reported, string(pod.UID))
		if was.HasGPUs() {
			m.refresh(pod.Spec.NodeName, false) // GPUs that the agent still reports for the pod are not free yet
		}
		m.tidy(pod.Spec.NodeName)
	}
}

// bound assigns a bound pod to its node in the state of the nodes. It does not matter which
// scheduler has bound the pod.
func (m *Mirror) bound(pod boundPod) {
	a := pod.assignment
	delete(m.mu.requests, a.UID)
	if pod.all && !a.HasGPUs() {
		m.env.State.Adopt(a)
	} else {
		node := m.node(a.Node)
		was, now := node.reported[a.UID], reported{pod.Namespace, pod.Name, v1alpha1.NodeUID(pod.Pod), !pod.all, a}
		node.reported[a.UID] = now
		m.adopt(a.UID, node)
		_, uidBefore := was.in(node.reports)
		if _, uidNow := now.in(node.reports); uidBefore != "" || uidNow != "" { // otherwise node.deduct subtracts the same GPUs as before
			m.refresh(a.Node, false)
		}
	}
}

// pending adds a pending pod to the queue. It does nothing if the pod was queued before with the
// same request.
func (m *Mirror) pending(pod pendingPod) {
	uid := string(pod.UID)
	if before, ok := m.mu.requests[uid]; ok && sameRequest(before.Pod, pod.Pod) {
		return
	}
	m.mu.requests[uid] = pod
	m.enqueue(pod)
}

// enqueue adds a pending pod to the queue. If the pod's request is invalid, it removes the pod
// from the queue and reports the error instead.
func (m *Mirror) enqueue(pod pendingPod) {
	request := *pod.request
	p := &request
	p.GPUs.Types = m.known(p.GPUs)
	if err := errors.Join(pod.invalid, m.complete(p, pod.Pod)); err != nil {
		m.env.Withdraw(p.UID)
		m.env.Refused(p, err)
		return
	}
	e := queue.Entry{Pod: p, Created: pod.CreationTimestamp.Time, Type: m.queueType(p), Tenant: p.Tenant}
	if m.env.Priority && pod.Spec.Priority != nil {
		e.Priority = *pod.Spec.Priority
	}
	m.env.Pending(e)
}

// complete adds to a pod's request what depends on other objects. A pod with exclusive CPUs must
// avoid the nodes that rejected the placement of a pod of the same owner a short time ago. Each pod
// must respect the GPU groups and quotas of its tenant.
func (m *Mirror) complete(p *sched.Pod, pod *corev1.Pod) error {
	if owner := ownerOf(pod); owner != "" && len(p.Exclusive) > 0 {
		p.Avoid = func(node string) bool { return m.env.Avoids(owner, node) }
	}
	return m.env.Limit(p, pod.Annotations)
}

// RequeueGPUs queues again all pending pods that request whole GPUs. It must be called when the
// GPUs that these pods may use have changed. It visits all pending pods.
func (m *Mirror) RequeueGPUs() {
	m.requeue(func(pod pendingPod) bool { return len(pod.request.GPUs.PerContainer) > 0 })
}

// RequeueTenant queues all pending pods of a tenant again. It must be called when the quotas of the
// tenant have changed. It visits all pending pods.
func (m *Mirror) RequeueTenant(name string) {
	m.requeue(func(pod pendingPod) bool { return pod.request.Tenant == name })
}

// RequeueAll queues all pending pods again.
func (m *Mirror) RequeueAll() { m.requeue(func(pendingPod) bool { return true }) }

func (m *Mirror) requeue(concerned func(pendingPod) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pod := range m.mu.requests {
		if concerned(pod) {
			m.enqueue(pod)
		}
	}
}

// RequeueNamespace queues again those pending pods of a Namespace whose tenant has changed. It
// must be called when the Namespace has changed. It visits all pending pods.
func (m *Mirror) RequeueNamespace(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, pod := range m.mu.requests {
		if pod.Namespace != name {
			continue
		}
		if now := m.tenant(pod.Pod); pod.request.Tenant != now {
			request := *pod.request
			request.Tenant, pod.request = now, &request
			m.mu.requests[uid] = pod
			m.enqueue(pod)
		}
	}
}
