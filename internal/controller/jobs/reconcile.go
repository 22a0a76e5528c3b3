package jobs

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/jobplan"
)

// reconciler brings one job after another to where it ought to be.
type reconciler struct {
	client        client.Client // reads from the cache
	fresh         client.Reader // reads from the API server
	news          events.EventRecorder
	scheme        *runtime.Scheme
	schedulerName string
	now           func() time.Time
}

// task is one job that is being looked after.
type task struct {
	*reconciler
	job     *v1alpha1.Job
	spec    *corev1.PodSpec // of its template; nil where that has a flaw
	pods    map[int]*corev1.Pod
	objects []v1alpha1.JobObject
	plan    jobplan.Plan
}

// Reconcile does what comes next for one job. The job is read from the API server,
// for its status, which says which failures are counted, must not be older than
// what the pods say.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	// 1. What is asked for.
	t := &task{reconciler: r, job: &v1alpha1.Job{}}
	if err := r.fresh.Get(ctx, request.NamespacedName, t.job); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if t.job.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	// 2. What there is.
	if err := t.read(ctx); err != nil {
		return reconcile.Result{}, err
	}
	// 3. What comes next.
	if err := t.think(); err != nil {
		return reconcile.Result{}, err
	}
	// 4. What is made. How far it came is written down even if not all could be.
	failed := t.make(ctx)
	// 5. What is known, before the pods that say so may go.
	if err := t.remember(ctx, failed); err != nil {
		return reconcile.Result{}, err
	}
	// 6. What is deleted.
	if err := t.delete(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if failed != nil {
		return reconcile.Result{}, failed
	}
	return reconcile.Result{RequeueAfter: t.plan.Again}, nil
}
