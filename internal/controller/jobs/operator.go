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
	"github.com/numalet/numalet/internal/platform/kubeapi"
)

const (
	// component is the name of the operator in events, and the name of its work queue in metrics.
	component = "numalet-job"
	// workers is the number of jobs that are reconciled concurrently.
	workers = 4
	// A failed reconciliation is retried after minRetryDelay. The delay doubles with each failure,
	// up to maxRetryDelay. Retries are needed because the cause of a failure may end without a
	// change of the job or its objects, for example when a ResourceQuota is raised.
	minRetryDelay, maxRetryDelay = 50 * time.Millisecond, 30 * time.Second
)

// Add adds a reconciler of all jobs to a manager. schedulerName is for pods whose template names no
// scheduler.
//
// If two replicas run a manager at the same time, they do some work twice. This does no harm, for
// four reasons. A pod cannot be created twice with the same name. A status is written only if the
// job has not changed since it was read. The Service and the ConfigMap are changed only if they
// have not changed since they were read. Pods are changed and deleted by UID.
func Add(m manager.Manager, schedulerName string) error {
	r := &reconciler{
		client: m.GetClient(), fresh: m.GetAPIReader(), recorder: kubeapi.Recorder{EventRecorder: m.GetEventRecorder(component)},
		scheme: m.GetScheme(), schedulerName: schedulerName, now: time.Now,
	}
	return r.watch(m)
}

// Cached returns the settings by which a manager's cache leaves out Services, ConfigMaps and pods
// that do not belong to jobs. Of the pods of jobs, the cache keeps only metadata, node and status.
func Cached() (map[client.Object]cache.ByObject, error) {
	ofJobs, err := labels.Parse(v1alpha1.LabelJob)
	only := cache.ByObject{Label: ofJobs}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}: only, &corev1.ConfigMap{}: only,
		&corev1.Pod{}: {Label: ofJobs, Transform: withoutSpec},
	}, err
}

// withoutSpec removes the spec of a pod, except the name of its node, to keep the cache small. The
// reconciler reads only this name, metadata and status.
func withoutSpec(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Spec, pod.ManagedFields = corev1.PodSpec{NodeName: pod.Spec.NodeName}, nil
	}
	return object, nil
}

// watch makes the manager reconcile a job when its spec or labels change, or when one of its
// objects changes. The cache has only the metadata of jobs, because each reconciliation reads the
// job from the API server.
func (r *reconciler) watch(m manager.Manager) error {
	specOrLabels := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	err := builder.ControllerManagedBy(m).Named(component).
		For(&v1alpha1.Job{}, builder.OnlyMetadata, builder.WithPredicates(specOrLabels)).
		Owns(&corev1.Pod{}).Owns(&corev1.Service{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetryDelay, maxRetryDelay),
		}).
		Complete(r)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("watch jobs: %w: install the custom resource definitions in deploy/crds", err)
	}
	return err
}
