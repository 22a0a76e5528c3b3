package mirror

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Ends returns when a bound pod ends at the latest, zero where nobody knows: its
// activeDeadlineSeconds after it was bound, which is a moment before its kubelet
// starts to count.
// Source: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/active_deadline.go.
func (m *Mirror) Ends(uid string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.ends[uid]
}

// limit notes when a bound pod ends. It needs m.mu.
func (m *Mirror) limit(pod *corev1.Pod) {
	since := boundSince(pod)
	if deadline := pod.Spec.ActiveDeadlineSeconds; deadline != nil && !since.IsZero() {
		m.mu.ends[string(pod.UID)] = since.Add(time.Duration(*deadline) * time.Second)
	}
}
