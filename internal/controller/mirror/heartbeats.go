package mirror

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Heartbeats finds the nodes whose agent no longer renews its Lease. The node lifecycle controller
// of Kubernetes does the same for kubelets. A Lease counts as expired if this process has seen no
// renewal for the duration of the Lease, so the clocks of the nodes do not matter. If a node's
// agent has no Lease, the agent counts as alive, because it may be of an older release.
type Heartbeats struct {
	now func() time.Time
	set func(node string, alive bool)
	mu  struct {
		sync.Mutex
		beats map[string]beat // by node
	}
}

// beat is the last renewal of a Lease that this process has seen.
type beat struct {
	renewed  metav1.MicroTime
	seen     time.Time
	duration time.Duration
	expired  bool
}

// NewHeartbeats returns Heartbeats that call the function given as `set` when the agent of a node
// stops renewing its Lease, and when it renews the Lease again.
func NewHeartbeats(now func() time.Time, set func(node string, alive bool)) *Heartbeats {
	h := &Heartbeats{now: now, set: set}
	h.mu.beats = map[string]beat{}
	return h
}

// NewHeartbeatInformer returns an informer that calls h for the Leases of the agents in a
// namespace. The second result reports whether the initial list was handled.
func NewHeartbeatInformer(client kubernetes.Interface, namespace string, h *Heartbeats, panicked Panicked) (cache.SharedIndexInformer, cache.InformerSynced, error) {
	informer := coordinationinformers.NewFilteredLeaseInformer(client, namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelHeartbeat + "=true" })
	if err := informer.SetTransform(Trim); err != nil {
		return nil, nil, err
	}
	r, err := informer.AddEventHandler(Contain(Handle(h.Renewed, h.Removed), panicked))
	if err != nil {
		return nil, nil, err
	}
	return informer, r.HasSynced, nil
}

// Renewed records that a Lease was added or updated.
func (h *Heartbeats) Renewed(l *coordinationv1.Lease) {
	node, ok := v1alpha1.HeartbeatNode(l.Name)
	if !ok || l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.mu.beats[node]
	if before.renewed.Equal(l.Spec.RenewTime) {
		return
	}
	h.mu.beats[node] = beat{renewed: *l.Spec.RenewTime, seen: h.now(), duration: time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second}
	if before.expired {
		h.set(node, true)
	}
}

// Removed forgets a Lease that was deleted, for example because its Node was deleted.
func (h *Heartbeats) Removed(l *coordinationv1.Lease) {
	node, _ := v1alpha1.HeartbeatNode(l.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.beats[node].expired {
		h.set(node, true)
	}
	delete(h.mu.beats, node)
}

// Check finds the Leases that have expired since the last call of Check, and calls h.set for their
// nodes. It must be called every few seconds.
func (h *Heartbeats) Check() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	for node, b := range h.mu.beats {
		if !b.expired && now.Sub(b.seen) > b.duration {
			b.expired = true
			h.mu.beats[node] = b
			h.set(node, false)
		}
	}
}
