package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// TestReserves checks that a node is reserved for a large waiting pod: small pods that are created
// later must not get this node.
func TestReserves(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4)
	w.start()
	for _, name := range []string{"a", "b"} {
		w.pod(name, "2", "single")
	}
	w.await("two small pods are bound", func() bool { return len(w.bound()) == 2 })
	w.pod("large", "8", "spread")
	w.await("a node is held back for the large pod", func() bool {
		node := w.controller.state.Record("n1")
		return node.Reserved != nil && node.Reserved.UID == "uid-large"
	})
	w.await("its tenant is charged for the free CPUs that are held back: 5 cores, beside 4 of the small pods", func() bool { return w.usage("default") == 9000 })
	w.pod("small", "2", "single")
	w.await("the small pod's author hears why it waits", func() bool { return w.unscheduled("small") != "" })
	for _, name := range []string{"a", "b"} {
		if err := w.client.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.await("the large pod is bound", func() bool { return w.bound()["large"] != "" })
	if node := w.controller.state.Record("n1"); node.Reserved != nil || w.bound()["small"] != "" {
		t.Errorf("held back %+v, bound %v; want nothing held back, and the small pod waiting", node.Reserved, w.bound())
	}
	w.await("the tenant is charged for the large pod only", func() bool { return w.usage("default") == 8000 })
}

// usage returns the sum of a tenant's usage (what it is charged for) over all resource types.
func (w *world) usage(tenant string) (sum fairshare.Milli) {
	w.controller.ledger.Each(func(name string, account fairshare.Account) {
		if name == tenant {
			sum += account.Usage
		}
	})
	return sum
}
