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

// Reconciler sets the weights in the ledger to those in the specs of Tenants. It writes the
// accounts of the ledger to the statuses of Tenants.
type Reconciler struct {
	Client client.Client
	Ledger *Ledger       // must be open
	Every  time.Duration // how often the status of each Tenant is compared with the ledger
	Fence  func() error  // returns an error while another replica may lead
}

// Reconcile reconciles one Tenant. While the Tenant exists, the result makes controller-runtime
// call Reconcile again after the time r.Every.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	tenant := &v1alpha1.Tenant{}
	if err := r.Client.Get(ctx, request.NamespacedName, tenant); err != nil {
		if apierrors.IsNotFound(err) {
			err = r.Ledger.weigh(request.Name, v1alpha1.TenantSpec{}) // if the tenant still has pods, they count with the default weight
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

// write writes the status of a Tenant. The write fails if the Tenant has changed since it was read.
// If Fence returns an error, the method returns an error and writes nothing: this process may have
// been paused (SIGSTOP) for so long that another replica is the leader now.
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
