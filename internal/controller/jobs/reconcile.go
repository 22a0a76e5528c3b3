package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/jobplan"
)

// reconciler reconciles jobs.
type reconciler struct {
	client        client.Client // reads from the cache; writes to the API server
	fresh         client.Reader // reads from the API server
	recorder      events.EventRecorder
	scheme        *runtime.Scheme
	schedulerName string
	now           func() time.Time
}

// task is the reconciliation of one job.
type task struct {
	*reconciler
	job        *v1alpha1.Job
	spec       *corev1.PodSpec // pod spec of the job's template; nil if the template is invalid
	rendezvous rendezvousObjects
	pods       map[int]*corev1.Pod
	objects    []v1alpha1.JobObject
	plan       jobplan.Plan
}

// Reconcile carries out the next steps of one job. It reads the job from the API server and not
// from the cache, because the job's status says how many failures were counted for each pod index.
// This number becomes the attempt number of a new pod with this index. If the status were out of
// date, the pod that replaces a failed pod could get the attempt number of the failed pod. Only one
// failure is counted for each index and attempt number, so a failure of the new pod would not be
// counted.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	// 1. Read the Service and the ConfigMap of the job, and only then the job (see the method `apply`).
	found, err := r.readRendezvous(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	t := &task{reconciler: r, job: &v1alpha1.Job{}, rendezvous: found}
	if err := r.fresh.Get(ctx, request.NamespacedName, t.job); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if t.job.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	// 2. Read the job's pods.
	if err := t.readPods(ctx); err != nil {
		return reconcile.Result{}, err
	}
	// 3. Plan the next steps.
	if err := t.planNext(); err != nil {
		return reconcile.Result{}, err
	}
	// 4. Create objects. If this fails, the status is still written.
	failed := t.create(ctx)
	// 5. Write the status. This comes before step 6, because the status is computed from pods
	//    that step 6 deletes.
	if err := t.writeStatus(ctx, failed); err != nil {
		return reconcile.Result{}, err
	}
	// 6. Delete pods, or the job.
	if err := t.delete(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if failed != nil {
		return reconcile.Result{}, failed
	}
	return reconcile.Result{RequeueAfter: t.plan.Requeue}, nil
}

// planNext makes the plan for the next steps of the job (package jobplan).
func (t *task) planNext() error {
	was, err := progressOf(t.job)
	if err != nil {
		return err
	}
	job := jobOf(&t.job.Spec)
	if t.spec, err = template(t.job); err != nil {
		job.Invalid = err.Error()
	} else {
		job.InPlace = t.spec.RestartPolicy == corev1.RestartPolicyOnFailure
	}
	now := t.now()
	var pods []jobplan.Pod
	for _, index := range slices.Sorted(maps.Keys(t.pods)) {
		pods = append(pods, podOf(index, t.pods[index], now))
		t.addObject(t.pods[index])
	}
	t.plan = jobplan.Next(job, was, pods, now)
	return nil
}

// template returns the pod spec of a job. It returns an error if the restart policy is Always,
// because the pods would never end. It also returns an error if the pods are so many that their
// names do not fit into the job's ConfigMap.
func template(job *v1alpha1.Job) (*corev1.PodSpec, error) {
	spec, err := job.Spec.Template.PodSpec()
	if err != nil {
		return nil, err
	}
	if spec.RestartPolicy == corev1.RestartPolicyAlways {
		return nil, fmt.Errorf("read spec.template.spec: restartPolicy is Always, but pods of a job must end: set it to Never or OnFailure")
	}
	if err := checkHostLists(job); err != nil {
		return nil, err
	}
	return spec, nil
}

// jobOf converts the spec of a job to the type that package jobplan reads.
func jobOf(spec *v1alpha1.JobSpec) jobplan.Job {
	job := jobplan.Job{
		Replicas: int(spec.Replicas), MinAvailable: int(spec.MinAvailable), Suspend: spec.Suspend,
		BackoffLimit: int(*spec.BackoffLimit),
	}
	if limit := spec.ActiveDeadlineSeconds; limit != nil {
		job.Deadline = time.Duration(*limit) * time.Second
	}
	if limit := spec.TTLSecondsAfterFinished; limit != nil {
		ttl := time.Duration(*limit) * time.Second
		job.TTL = &ttl
	}
	return job
}
