package controller

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// used creates a Tenant with a stored score as of now.
func (w *world) used(name, score string) {
	w.Helper()
	t := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Status.Accounts = []v1alpha1.Account{{Type: "cpu", Usage: resource.MustParse("0"), Score: score, LastUpdateTime: metav1.NewMicroTime(time.Now())}}
	if err := w.tenants.Create(w.Context(), t); err != nil {
		w.Fatal(err)
	}
	if err := w.tenants.Status().Update(w.Context(), t); err != nil {
		w.Fatal(err)
	}
}

// of creates a pending pod of a tenant with two exclusive CPUs of one NUMA node.
func (w *world) of(tenant, name string) {
	w.Helper()
	pod := pendingPod(name, "2", "single")
	pod.Labels = map[string]string{v1alpha1.LabelTenant: tenant}
	w.create(pod)
}

// TestTenantsTakeTurnsByScore checks that pods of the tenant with the lower score come
// first, even if they were created later.
func TestTenantsTakeTurnsByScore(t *testing.T) {
	w := newWorld(t)
	w.used("ann", "8")
	w.node("n1", 2)
	for _, name := range []string{"a1", "a2"} {
		w.of("ann", name)
	}
	for _, name := range []string{"b1", "b2"} {
		w.of("bob", name)
	}
	w.start("--proposers=1") // with several proposers a later pod may be bound earlier
	w.await("two pods are bound, and charged", func() bool { return len(w.bound()) == 2 && w.controller.ledger.Rank("bob", "cpu") > 0 })
	bound := w.bound()
	for _, name := range []string{"b1", "b2"} {
		if bound[name] == "" {
			t.Errorf("%s is not bound, but %v are", name, bound)
		}
	}
}

// TestWhy checks that the queue API and the pod's condition say why a pod waits.
func TestWhy(t *testing.T) {
	w := newWorld(t)
	w.used("ann", "8")
	w.node("n1", 1)
	w.of("ann", "a1")
	w.of("bob", "b1")
	w.start()
	w.await("both are blocked", func() bool { return w.controller.queue.Depth()[queue.Unschedulable] == 2 })
	client := queueapi.Client{Server: "http://" + w.controller.explains.Addr()}
	w.await("their authors hear why", func() bool { return w.unscheduled("a1") != "" && w.unscheduled("b1") != "" })
	pod, err := client.Why(t.Context(), "default", "a1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]queueapi.Ahead{{Tenant: "bob", Pods: 1}}, pod.Ahead); diff != "" || pod.Position != 2 || pod.Tenant != "ann" {
		t.Errorf("%+v, ahead (-want +got):\n%s", pod, diff)
	}
	if pod.Message != w.unscheduled("a1") || pod.Score > 8 || pod.Score < 7.9 {
		t.Errorf("said %q, score %v; want the condition, and about 8", pod.Message, pod.Score)
	}
}

// TestFirstSeenTenant checks that a new tenant's score includes the time for which its
// pods have run already.
func TestFirstSeenTenant(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 2)
	pod := pendingPod("runs", "500m", "")
	began := metav1.NewTime(time.Now().Add(-42 * time.Hour)) // the time constant of scores
	pod.Spec.NodeName, pod.Status.StartTime = "n1", &began
	w.create(pod)
	w.start()
	w.await("the pod is charged", func() bool { return w.controller.ledger.Rank("default", "cpu") > 0 })
	want := math.Round(1000 * .5 * (1 - math.Exp(-1)))
	if diff := cmp.Diff(want, math.Round(1000*w.controller.ledger.Rank("default", "cpu"))); diff != "" {
		t.Errorf("score in thousandths (-want +got):\n%s", diff)
	}
}
