package tenant

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// component is the operator's name.
	component = "numalet-tenant"
	// workers is how many tenants are looked after at one time.
	workers = 4
	// patience is how long the API server may take to tell of all tenants.
	patience = 10 * 365 * 24 * time.Hour
)

// Options are whom an operator works with, and what a Reconciler needs.
type Options struct {
	Config *rest.Config
	Ledger *Ledger
	Every  time.Duration
	Fence  func() error
	Log    logr.Logger
}

// Operator looks after all tenants of a cluster. It is the leader's: only one ledger
// is right.
type Operator struct{ manager manager.Manager }

// New returns an operator that does nothing yet.
func New(o Options) (*Operator, error) {
	known, err := scheme()
	if err != nil {
		return nil, err
	}
	ctrllog.SetLogger(o.Log)
	m, err := manager.New(asJSON(o.Config), manager.Options{
		Scheme: known, Logger: o.Log, Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return nil, fmt.Errorf("make operator of tenants: %w", err)
	}
	err = builder.ControllerManagedBy(m).Named(component).
		For(&v1alpha1.Tenant{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, CacheSyncTimeout: patience, SkipNameValidation: ptr.To(true)}).
		Complete(&Reconciler{m.GetClient(), o.Ledger, o.Every, o.Fence})
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("watch tenants: %w: install deploy/crds", err)
	}
	return &Operator{m}, err
}

// Run works until ctx ends. It may be called once, on an open ledger.
func (o *Operator) Run(ctx context.Context) error {
	if err := o.manager.Start(ctx); err != nil {
		return fmt.Errorf("run operator of tenants: %w", err)
	}
	return nil
}

// NewReader returns what reads Tenants from the API server.
func NewReader(config *rest.Config) (client.Reader, error) {
	known, err := scheme()
	if err != nil {
		return nil, err
	}
	reader, err := client.New(asJSON(config), client.Options{Scheme: known})
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	return reader, nil
}

// asJSON is how custom resources are written: there is no protobuf of them.
func asJSON(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return c
}

func scheme() (*runtime.Scheme, error) {
	known := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(known); err != nil {
		return nil, fmt.Errorf("register the types of %s: %w", v1alpha1.GroupVersion(), err)
	}
	return known, nil
}
