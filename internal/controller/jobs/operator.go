package jobs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
)

const (
	// component is the operator's name in events, and of its queue in metrics.
	component = "numalet-job"
	// workers is how many jobs are looked after at one time.
	workers = 4
	// What fails is tried again after the first pause, and after twice as long each
	// time more, up to the longest: nobody tells when a quota has room again, or when
	// what was in the way is gone.
	firstPause, longestPause = 50 * time.Millisecond, 30 * time.Second
)

// Add has a manager look after all jobs of a cluster. Their pods go to schedulerName
// where the template names none.
//
// Two that do so at one time do no harm, but cost time: every write names what it was
// decided by. A pod has a name of its own and cannot be made twice, a status is
// written only over the version that was read, and what is deleted is named by UID.
func Add(m manager.Manager, schedulerName string) error {
	r := &reconciler{
		client: m.GetClient(), fresh: m.GetAPIReader(), news: m.GetEventRecorder(component),
		scheme: m.GetScheme(), schedulerName: schedulerName, now: time.Now,
	}
	return r.watch(m)
}

// Cached restricts a manager's cache to what was made for jobs, and of it to what is
// looked at.
func Cached() (map[client.Object]cache.ByObject, error) {
	ofJobs, err := labels.Parse(v1alpha1.LabelJob)
	only := cache.ByObject{Label: ofJobs}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}: only, &corev1.ConfigMap{}: only,
		&corev1.Pod{}: {Label: ofJobs, Transform: withoutSpec},
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
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstPause, longestPause),
		}).
		Complete(r)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("watch jobs: %w: install deploy/crds", err)
	}
	return err
}
