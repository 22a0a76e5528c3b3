package operators

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/numalet/numalet/api/v1alpha1"
)

// patience is how long the API server may take to tell of all custom resources and what
// was made for them. Where there is no such resource it never does.
const patience = 10 * 365 * 24 * time.Hour

// Options are what a manager is set up with.
type Options struct {
	Cached map[client.Object]cache.ByObject // of other kinds all are cached that are asked for
	Log    logr.Logger
}

// New returns a manager that does nothing yet, and looks after nothing. Who leads is
// elected elsewhere. Requests about one kind do not wait for the limit of another's.
func New(config *rest.Config, o Options) (manager.Manager, error) {
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		return nil, fmt.Errorf("register types for operators: %w", err)
	}
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "", "" // chosen by kind: there is no protobuf of a custom resource
	ctrllog.SetLogger(o.Log)
	m, err := manager.New(config, manager.Options{
		Scheme: known, Logger: o.Log, Metrics: server.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: o.Cached},
		Controller: ctrlconfig.Controller{CacheSyncTimeout: patience, SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("make operators: %w", err)
	}
	return m, nil
}

// Run has a manager's operators work until ctx ends. It may be called once.
func Run(ctx context.Context, m manager.Manager) error {
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("run operators: %w", err)
	}
	return nil
}
