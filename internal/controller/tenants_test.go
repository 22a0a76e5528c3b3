package controller

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/controller/queueapi"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// w.used(name, score) creates a Tenant whose status has this score, with the current time as its
// last update.
func (w *world) used(name, score string) {
	w.Helper()
	tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	tenant.Status.Accounts = []v1alpha1.Account{{Type: "cpu", Usage: resource.MustParse("0"), Score: score, LastUpdateTime: metav1.NewMicroTime(time.Now())}}
	if err := w.tenants.Create(w.Context(), tenant); err != nil {
		w.Fatal(err)
	}
	if err := w.tenants.Status().Update(w.Context(), tenant); err != nil {
		w.Fatal(err)
	}
}

// w.of(tenant, name) creates a pending pod of a tenant. The pod requests two exclusive CPUs of a
// single NUMA node.
func (w *world) of(tenant, name string) {
	w.Helper()
	pod := pendingPod(name, "2", "single")
	pod.Labels = map[string]string{v1alpha1.LabelTenant: tenant}
	w.create(pod)
}

// TestTenantsTakeTurnsByScore checks that pods of the tenant with the lower score are bound first,
// even if they were created later.
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
	w.start("--proposers=1") // with several proposers (goroutines that search nodes for different pods at the same time), a later pod may be bound first
	w.await("two pods are bound, and charged", func() bool { return len(w.bound()) == 2 && w.controller.ledger.Rank("bob", "cpu") > 0 })
	bound := w.bound()
	for _, name := range []string{"b1", "b2"} {
		if bound[name] == "" {
			t.Errorf("%s is not bound, but %v are", name, bound)
		}
	}
}

// TestTenantsListedAgain checks that a new leader whose first list of Tenants fails lists them again,
// and then knows their scores.
func TestTenantsListedAgain(t *testing.T) {
	w := newWorld(t)
	w.used("ann", "8")
	lists := 0
	w.tenants = interceptor.NewClient(w.tenants.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, server client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
			if lists++; lists == 1 {
				return apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
			}
			return server.List(ctx, into, opts...)
		},
	})
	w.node("n1", 2)
	w.start()
	w.of("ann", "a1")
	w.await("ann's pod is bound", func() bool { return w.isBound("a1") })
	if rank := w.controller.ledger.Rank("ann", "cpu"); rank < 7.9 {
		t.Errorf("ann's rank is %v, want about 8", rank)
	}
}

// TestTenantOfNamespace checks that a pod that names no tenant belongs to the tenant of its
// Namespace, and that a bound pod keeps this tenant after the Namespace's label has changed. It
// also checks that a pod of a tenant without a Tenant object waits until the object is created, and
// that the pod's message gives this reason.
func TestTenantOfNamespace(t *testing.T) {
	w := newWorld(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{v1alpha1.LabelTenant: "ann"}}}
	if err := w.client.Tracker().Add(namespace); err != nil {
		t.Fatal(err)
	}
	w.quotas.Add(&v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "ann"}})
	w.node("n1", 4)
	w.start()
	w.pod("first", "2", "single")
	w.await("the first is charged to ann", func() bool { return w.isBound("first") && w.controller.ledger.Rank("ann", "cpu") > 0 })

	relabelled := namespace.DeepCopy()
	relabelled.Labels[v1alpha1.LabelTenant] = "ben"
	if _, err := w.client.CoreV1().Namespaces().Update(t.Context(), relabelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("the label is seen", func() bool { return w.controller.namespaces.Tenant("default") == "ben" })
	w.pod("second", "2", "single")
	w.await("the second hears that nobody knows ben", func() bool {
		return strings.Contains(w.unscheduled("second"), `the tenant "ben" is unknown: ask an administrator to create a Tenant of this name`)
	})
	w.quotas.Add(&v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "ben"}})
	w.await("the second is charged to ben", func() bool { return w.isBound("second") && w.controller.ledger.Rank("ben", "cpu") > 0 })
	if rank := w.controller.ledger.Rank("ann", "cpu"); rank <= 0 {
		t.Errorf("ann's rank is %v, want more than 0: her pod is still hers", rank)
	}
}

// TestTenantFollowsNamespace checks that a pending pod gets the new tenant of its Namespace when
// the Namespace's label changes.
func TestTenantFollowsNamespace(t *testing.T) {
	w := newWorld(t)
	w.quotas.Add(&v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "ann"}})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := w.client.Tracker().Add(namespace); err != nil {
		t.Fatal(err)
	}
	w.node("n1", 4)
	w.start()
	w.pod("a", "2", "single")
	w.await("its tenant is unknown", func() bool { return strings.Contains(w.unscheduled("a"), `the tenant "default" is unknown`) })
	labelled := namespace.DeepCopy()
	labelled.Labels = map[string]string{v1alpha1.LabelTenant: "ann"}
	if _, err := w.client.CoreV1().Namespaces().Update(t.Context(), labelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("it is ann's", func() bool { return w.isBound("a") })
}

// TestWhy checks that the queue API and the condition of a pod say why the pod waits.
func TestWhy(t *testing.T) {
	w := newWorld(t)
	w.used("ann", "8")
	w.node("n1", 1)
	w.of("ann", "a1")
	w.of("bob", "b1")
	w.start()
	w.await("both are blocked", func() bool { return w.controller.queue.Depth()[queue.Unschedulable] == 2 })
	client := w.queueClient()
	w.await("their authors hear why", func() bool { return w.unscheduled("a1") != "" && w.unscheduled("b1") != "" })
	pod, err := client.Get(t.Context(), "default", "a1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]queueapi.Ahead{{Tenant: "bob", Pods: 1}}, pod.Status.Ahead); diff != "" || pod.Status.Position != 2 || pod.Status.Tenant != "ann" {
		t.Errorf("%+v, ahead (-want +got):\n%s", pod, diff)
	}
	if pod.Status.Message != w.unscheduled("a1") || pod.Status.Score > 8 || pod.Status.Score < 7.9 {
		t.Errorf("said %q, score %v; want the condition, and about 8", pod.Status.Message, pod.Status.Score)
	}
}

// TestFirstSeenTenant checks that the score of a new tenant includes the time that its pods had run
// before the controller was started.
func TestFirstSeenTenant(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 2)
	pod := pendingPod("runs", "500m", "")
	began := metav1.NewTime(time.Now().Add(-42 * time.Hour)) // 42 h is the time constant of the decay of scores, so the score must have risen to 1 - 1/e of its limit
	pod.Spec.NodeName, pod.Status.StartTime = "n1", &began
	w.create(pod)
	w.start()
	w.await("the pod is charged", func() bool { return w.controller.ledger.Rank("default", "cpu") > 0 })
	want := math.Round(1000 * .5 * (1 - math.Exp(-1)))
	if diff := cmp.Diff(want, math.Round(1000*w.controller.ledger.Rank("default", "cpu"))); diff != "" {
		t.Errorf("score in thousandths (-want +got):\n%s", diff)
	}
}
