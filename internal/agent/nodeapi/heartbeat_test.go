package nodeapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestHeartbeat checks that the agent renews its Lease long before the Lease expires. The Lease
// must have the Node as its owner, and the label by which numalet-controller finds it.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1"}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- NewHeartbeat(client, "n1", "ns").Run(ctx) }()
		read := func() *coordinationv1.Lease {
			synctest.Wait()
			l, err := client.CoordinationV1().Leases("ns").Get(t.Context(), "agent-n1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		first := read()
		time.Sleep(leaseDuration / 2)
		second := read()
		if !first.Spec.RenewTime.Time.Before(second.Spec.RenewTime.Time) {
			t.Errorf("renewed at %s and %s", first.Spec.RenewTime, second.Spec.RenewTime)
		}
		if diff := cmp.Diff(map[string]string{"numalet.dev/heartbeat": "true"}, second.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if o := second.OwnerReferences; len(o) != 1 || o[0].Kind != "Node" || o[0].UID != "u1" {
			t.Errorf("owners %v, want Node n1", o)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
