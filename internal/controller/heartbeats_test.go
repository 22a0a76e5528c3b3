package controller

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestNoPlacementOnSilentNode checks that a pod with exclusive CPUs is not placed on a node whose
// agent no longer renews its Lease, even if the NodeTopology still says Ready. Once the agent
// renews its Lease again, the pod must be placed on the node.
func TestNoPlacementOnSilentNode(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4)
	w.start()
	leases := w.client.CoordinationV1().Leases("numalet-system")
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.HeartbeatName("n1"), Labels: map[string]string{v1alpha1.LabelHeartbeat: "true"}},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: ptr.To(int32(0)), RenewTime: ptr.To(metav1.NewMicroTime(time.Unix(1000, 0)))},
	}
	exclusive := func() bool {
		for node := range w.controller.state.View().Nodes() {
			return len(node.NUMA) > 0
		}
		return false
	}
	w.await("the node has exclusive CPUs", exclusive) // the Node may be known before its NodeTopology
	w.await("Leases are watched", func() bool { return w.watches("leases") == 1 })
	if _, err := leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("the node has no exclusive CPUs", func() bool {
		w.controller.heartbeats.Check()
		return !exclusive()
	})
	w.pod("a", "2", "single")
	w.await("the pod is not placed", func() bool { return w.unscheduled("a") != "" })
	lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = ptr.To(metav1.NewMicroTime(time.Unix(1010, 0))), ptr.To(int32(60))
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("the pod is placed", func() bool { return len(w.bound()) == 1 })
}
