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

// Reconciler sets the ledger's weights from the specs of Tenants, and writes the ledger's
// accounts to their statuses.
type Reconciler struct {
	Client client.Client
	Ledger *Ledger       // open
	Every  time.Duration // how often a status is compared with the ledger
	Fence  func() error  // why this process must not write now
}

// Reconcile does this for one tenant, and again after Every.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	tenant := &v1alpha1.Tenant{}
	if err := r.Client.Get(ctx, request.NamespacedName, tenant); err != nil {
		if apierrors.IsNotFound(err) {
			err = r.Ledger.weigh(request.Name, v1alpha1.TenantSpec{}) // its pods, if any, count with the default weight
		}
		return reconcile.Result{}, err
	}
	if tenant.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	before := tenant.DeepCopy()
	invalid := r.Ledger.weigh(tenant.Name, tenant.Spec)
	if r.Ledger.updateStatus(tenant, invalid) {
		if err := r.write(ctx, before, tenant); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: r.Every}, nil
}

// write writes a status if the version that was read is still current and the fence is
// open. A former leader that was paused writes nothing.
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
