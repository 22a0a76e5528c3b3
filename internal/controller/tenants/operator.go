package tenants

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// component is the name of the operator (the reconciler of Tenants).
	component = "numalet-tenant"
	// workers is the number of tenants that are reconciled concurrently.
	workers = 4
)

// Add adds a reconciler of all Tenants to a manager. The reconciler uses the client of the manager.
// The reconciler writes the accounts of r.Ledger to the Tenants, so the manager may be started only
// when this ledger is complete: in the leader, after r.Ledger was opened.
func Add(m manager.Manager, r Reconciler) error {
	r.Client = m.GetClient()
	err := builder.ControllerManagedBy(m).Named(component).
		For(&v1alpha1.Tenant{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&r)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("watch tenants: %w: install the custom resource definitions in deploy/crds", err)
	}
	return err
}
