package tenants

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Reconciler brings the ledger to what Tenants' specs say, and their status to what
// the ledger says.
type Reconciler struct {
	Client client.Client
	Ledger *Ledger       // open
	Every  time.Duration // how often a status is looked at
	Fence  func() error  // says why this process may not write now
}

// Reconcile does that for one tenant, now and again after a while.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.Tenant{}
	if err := r.Client.Get(ctx, request.NamespacedName, t); err != nil {
		if apierrors.IsNotFound(err) {
			err = r.Ledger.weigh(request.Name, v1alpha1.TenantSpec{}) // its pods, if any, are everybody's now
		}
		return reconcile.Result{}, err
	}
	if t.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	before := t.DeepCopy()
	bad := r.Ledger.weigh(t.Name, t.Spec)
	if r.Ledger.describe(t, bad) {
		if err := r.write(ctx, before, t); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: r.Every}, nil
}

// write stores a status over the version that was read. Who led, was paused and does
// not know yet that another leads writes nothing.
func (r *Reconciler) write(ctx context.Context, before, now *v1alpha1.Tenant) error {
	if err := r.Fence(); err != nil {
		return fmt.Errorf("write status of tenant %s: %w", now.Name, err)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, now, patch); err != nil {
		return fmt.Errorf("write status of tenant %s: %w", now.Name, err)
	}
	return nil
}
