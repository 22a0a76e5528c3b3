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
	// component is the operator's name.
	component = "numalet-tenant"
	// workers is how many tenants are looked after at one time.
	workers = 4
)

// Add has a manager look after all tenants of a cluster, by a reconciler without a
// client. It is to be started by the leader only, on an open ledger: only one is right.
func Add(m manager.Manager, r Reconciler) error {
	r.Client = m.GetClient()
	err := builder.ControllerManagedBy(m).Named(component).
		For(&v1alpha1.Tenant{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&r)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("watch tenants: %w: install deploy/crds", err)
	}
	return err
}
