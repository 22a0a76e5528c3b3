package nodeapi

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// leaseDuration is how long the agent counts as alive after it has renewed its Lease.
	leaseDuration = time.Minute
	// renewEvery is the time between two renewals of the Lease. It is a quarter of leaseDuration,
	// as in the kubelet.
	renewEvery = leaseDuration / 4
)

// Heartbeat renews a Lease, which shows that the agent of a node is alive, like the Lease of the
// kubelet. The condition Ready of the NodeTopology cannot show this, because an agent that has
// ended cannot change a condition. The NodeTopology has no time of the last renewal, because a
// NodeTopology is much larger than a Lease, and every watcher would receive the NodeTopology at
// each renewal.
type Heartbeat struct {
	lease lease.Controller
}

// NewHeartbeat returns the heartbeat of a node's agent. The parameter `namespace` is the namespace
// of the Lease.
func NewHeartbeat(client kubernetes.Interface, node, namespace string) *Heartbeat {
	owned := func(l *coordinationv1.Lease) error {
		l.Labels = map[string]string{v1alpha1.LabelHeartbeat: "true"}
		if len(l.OwnerReferences) > 0 {
			return nil
		}
		// With this owner, the Lease is deleted when the Node is deleted.
		found, err := client.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get node %q, the owner of the Lease: %w", node, err)
		}
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: found.UID}}
		return nil
	}
	return &Heartbeat{lease.NewController(clock.RealClock{}, client, node, int32(leaseDuration/time.Second), nil, renewEvery, v1alpha1.HeartbeatName(node), namespace, owned)}
}

// Run renews the Lease until ctx ends.
func (h *Heartbeat) Run(ctx context.Context) error {
	h.lease.Run(ctx)
	return nil
}
