package tenants

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// reconciler returns a reconciler for a Tenant ann with the given weight and quotas.
func (w *world) reconciler(weight string, quotas map[string]string) *Reconciler {
	known := runtime.NewScheme()
	w.must(v1alpha1.AddToScheme(known))
	quantity := resource.MustParse(weight)
	ann := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "ann", Generation: 3}, Spec: v1alpha1.TenantSpec{Weight: &quantity}}
	for name, quota := range quotas {
		if ann.Spec.Quotas == nil {
			ann.Spec.Quotas = map[string]resource.Quantity{}
		}
		ann.Spec.Quotas[name] = resource.MustParse(quota)
	}
	c := fake.NewClientBuilder().WithScheme(known).WithStatusSubresource(ann).WithObjects(ann).Build()
	return &Reconciler{c, w.Ledger, time.Minute, func() error { return nil }}
}

// reconcile sets the clock to the given second and reconciles the Tenant ann. It returns a summary
// of the status, or "as before" if the status was not written.
func (w *world) reconcile(r *Reconciler, second float64) string {
	w.Helper()
	w.at(second)
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "ann"}}
	var before, t v1alpha1.Tenant
	w.must(r.Client.Get(w.Context(), request.NamespacedName, &before))
	result, err := r.Reconcile(w.Context(), request)
	w.must(err)
	if result.RequeueAfter != time.Minute {
		w.Errorf("again after %s, want a minute", result.RequeueAfter)
	}
	w.must(r.Client.Get(w.Context(), request.NamespacedName, &t))
	if t.ResourceVersion == before.ResourceVersion {
		return "as before"
	}
	var b strings.Builder
	for _, a := range t.Status.Accounts {
		fmt.Fprintf(&b, "%s %s %.6s, ", a.Type, a.Usage.String(), a.Score)
	}
	for _, condition := range t.Status.Conditions {
		fmt.Fprintf(&b, "%s %s of %d, %s: %s, ", condition.Type, condition.Status, condition.ObservedGeneration, condition.Reason, condition.Message)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// TestStatus checks that the status of a Tenant is written when the usage changes, and when the
// passage of time has changed a score by more than visibleChange. It also checks that the status
// is not written otherwise.
func TestStatus(t *testing.T) {
	w := newWorld(t, 0)
	w.must(w.Open(nil))
	r := w.reconciler("2", map[string]string{"cpu": "4", "gpu": "3"})
	counted := "Ready True of 3, Counted: usage is counted; pods are ordered by score divided by weight, "
	w.Start(cores("aaaa", "ann", 0))
	got := []string{w.reconcile(r, 1), w.reconcile(r, 10), w.reconcile(r, 10.05), w.reconcile(r, 60)}
	w.Start(fairshare.Task{UID: "gpus", Tenant: "ann", Since: w.now, Holds: []fairshare.Charge{{Type: "T4", Amount: 2000}, {Type: "H200", Amount: 2000}}})
	got = append(got, w.reconcile(r, 66), w.reconcile(r, 36000), w.reconcile(r, 36060))
	want := []string{
		"cpu 0 0, " + counted + "WithinQuota True of 3, WithinQuota: 0 of 4 cpu, 0 of 3 gpu",
		"cpu 4 0.0110, " + counted + "WithinQuota True of 3, WithinQuota: 4 of 4 cpu, 0 of 3 gpu",
		"as before",
		"cpu 4 0.0661, " + counted + "WithinQuota True of 3, WithinQuota: 4 of 4 cpu, 0 of 3 gpu",
		"H200 2 0.0033, T4 2 0.0033, cpu 4 0.0726, " + counted + "WithinQuota False of 3, OverQuota: 4 of 4 cpu, 4 of 3 gpu",
		"H200 2 1.9999, T4 2 1.9999, cpu 4 3.9998, " + counted + "WithinQuota False of 3, OverQuota: 4 of 4 cpu, 4 of 3 gpu",
		"as before",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got, want := w.Rank("ann", fairshare.CPU), 3.9998/2; got < want-.001 || got > want+.001 {
		t.Errorf("score per weight %v, want %v", got, want)
	}
	w.must(r.Client.Delete(t.Context(), &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "ann"}}))
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "ann"}}); err != nil {
		t.Fatal(err)
	}
	if got := w.Rank("ann", fairshare.CPU); got < 3.99 {
		t.Errorf("without a Tenant the score per weight is %v, want that of weight 1", got)
	}
}

// TestBadWeight checks that the condition Ready of a Tenant has an error if the weight in the
// spec is invalid.
func TestBadWeight(t *testing.T) {
	w := newWorld(t, 0)
	w.must(w.Open(nil))
	want := "Ready False of 3, BadSpec: tenant ann: weight 0: want more than 0 (default 1), " +
		"WithinQuota True of 3, WithinQuota: the tenant has no quota"
	if diff := cmp.Diff(want, w.reconcile(w.reconciler("0", nil), 1)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestFenced checks that a replica that may have lost the leader's lease does not write the
// status of a Tenant.
func TestFenced(t *testing.T) {
	w := newWorld(t, 0)
	w.must(w.Open(nil))
	r := w.reconciler("1", nil)
	r.Fence = func() error { return errors.New("the lease is over") }
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "ann"}})
	if err == nil || err.Error() != "write status of tenant ann: the lease is over" {
		t.Errorf("error %v", err)
	}
}
