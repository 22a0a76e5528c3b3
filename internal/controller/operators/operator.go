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

// cacheSyncTimeout is how long the manager waits for its caches. It is so long that it never
// passes: a cache does not sync while a custom resource definition is missing, and a timeout
// would end the controller.
const cacheSyncTimeout = 10 * 365 * 24 * time.Hour

// Options are the options with which New creates a manager.
type Options struct {
	Cached map[client.Object]cache.ByObject // which objects are cached, for each kind in the map; of all other kinds, every object is cached
	Log    logr.Logger
}

// New returns a manager without operators. The manager does not elect a leader. Each kind of
// object has its own client, so that requests for one kind do not wait for the rate limit of
// another kind.
func New(config *rest.Config, o Options) (manager.Manager, error) {
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		return nil, fmt.Errorf("register types for operators: %w", err)
	}
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "", "" // empty, so that controller-runtime chooses the encoding for each kind: custom resources cannot be encoded as protobuf
	ctrllog.SetLogger(o.Log)
	m, err := manager.New(config, manager.Options{
		Scheme: known, Logger: o.Log, Metrics: server.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: o.Cached},
		Controller: ctrlconfig.Controller{CacheSyncTimeout: cacheSyncTimeout, SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager of the operators: %w", err)
	}
	return m, nil
}

// Run runs the operators of a manager until ctx is done. It may be called only once for a
// manager.
func Run(ctx context.Context, m manager.Manager) error {
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("run operators: %w", err)
	}
	return nil
}
