package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// component is the operator's name in events, and of its queue in metrics.
	component = "numalet-job"
	// workers is how many jobs are looked after at one time.
	workers = 4
	// patience is how long the API server may take to tell of all jobs and what was
	// made for them. Where there is no such custom resource it never does.
	patience = 10 * 365 * 24 * time.Hour
	// What fails is tried again after the first pause, and after twice as long each
	// time more, up to the longest: nobody tells when a quota has room again, or when
	// what was in the way is gone.
	firstPause, longestPause = 50 * time.Millisecond, 30 * time.Second
)

// Options are whom an operator works with.
type Options struct {
	Config        *rest.Config
	SchedulerName string // of pods whose template names none
	Log           logr.Logger
}

// Operator looks after all jobs of a cluster.
//
// Two of them at one time do no harm, but cost time: every write names what it was
// decided by. A pod has a name of its own and cannot be made twice, a status is
// written only over the version that was read, and what is deleted is named by UID.
type Operator struct{ manager manager.Manager }

// New returns an operator that does nothing yet.
func New(o Options) (*Operator, error) {
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(o.Config)
	config.ContentType, config.AcceptContentTypes = "", "" // chosen by kind: there is no protobuf of a custom resource
	ctrllog.SetLogger(o.Log)
	made, err := whatIsMade()
	if err != nil {
		return nil, err
	}
	m, err := manager.New(config, manager.Options{Scheme: known, Logger: o.Log, Cache: made, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, fmt.Errorf("make operator of jobs: %w", err)
	}
	r := &reconciler{
		client: m.GetClient(), fresh: m.GetAPIReader(), news: m.GetEventRecorder(component),
		scheme: known, schedulerName: o.SchedulerName, now: time.Now,
	}
	return &Operator{m}, r.watch(m)
}

// Run works until ctx ends. It may be called once.
func (o *Operator) Run(ctx context.Context) error {
	if err := o.manager.Start(ctx); err != nil {
		return fmt.Errorf("run operator of jobs: %w", err)
	}
	return nil
}

// whatIsMade restricts the cache to what was made for jobs, and of it to what is
// looked at.
func whatIsMade() (cache.Options, error) {
	ofJobs, err := labels.Parse(v1alpha1.LabelJob)
	only := cache.ByObject{Label: ofJobs}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Service{}: only, &corev1.ConfigMap{}: only,
			&corev1.Pod{}: {Label: ofJobs, Transform: withoutSpec},
		},
	}, err
}

// withoutSpec keeps the cache small: of a pod only who it is and how it is doing
// counts.
func withoutSpec(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Spec, pod.ManagedFields = corev1.PodSpec{}, nil
	}
	return object, nil
}

// watch makes a manager ask the reconciler whenever a job or what was made for it
// has changed. Of jobs it watches the metadata only, for each is read when its turn
// comes.
func (r *reconciler) watch(m manager.Manager) error {
	asked := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	err := builder.ControllerManagedBy(m).Named(component).
		For(&v1alpha1.Job{}, builder.OnlyMetadata, builder.WithPredicates(asked)).
		Owns(&corev1.Pod{}).Owns(&corev1.Service{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers, CacheSyncTimeout: patience, SkipNameValidation: ptr.To(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstPause, longestPause),
		}).
		Complete(r)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("watch jobs: %w: install deploy/crds", err)
	}
	return err
}
