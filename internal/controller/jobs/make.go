package jobs

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/numalet/numalet/api/v1alpha1"
)

// make makes what lacks: first that by which the pods find each other, then the
// pods; and corrects those that wait. It stops at the first that cannot be made.
func (t *task) make(ctx context.Context) error {
	if t.spec == nil {
		return nil
	}
	if err := t.meet(ctx); err != nil {
		return t.tell(v1alpha1.EventFailedCreate, err)
	}
	for _, birth := range t.plan.Make {
		pod := t.newPod(birth)
		if err := errors.Join(t.own(pod), t.create(ctx, pod)); err != nil {
			return t.tell(v1alpha1.EventFailedCreate, err)
		}
		t.list(pod)
	}
	return t.regather(ctx)
}

// create makes an object, unless the job has it already and the cache does not know
// that yet.
func (t *task) create(ctx context.Context, object client.Object) error {
	err := t.client.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return t.recognise(ctx, object)
	}
	if err != nil {
		return fmt.Errorf("make %s %s: %w", kindOf(object), object.GetName(), err)
	}
	return nil
}

// recognise returns an error where an object that exists is not the job's.
func (t *task) recognise(ctx context.Context, object client.Object) error {
	if err := t.fresh.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("read %s %s: %w", kindOf(object), object.GetName(), err)
	}
	if !metav1.IsControlledBy(object, t.job) {
		return fmt.Errorf("there is a %s %s that is not this job's: delete that, or give the job another name", kindOf(object), object.GetName())
	}
	return nil
}

// own labels an object as the job's, and makes it go with the job.
func (t *task) own(object client.Object) error {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelJob] = t.job.Name
	if tenant := t.job.Labels[v1alpha1.LabelTenant]; tenant != "" {
		labels[v1alpha1.LabelTenant] = tenant
	}
	object.SetLabels(labels)
	return controllerutil.SetControllerReference(t.job, object, t.scheme)
}

// list notes an object for the status.
func (t *task) list(object client.Object) {
	t.objects = append(t.objects, v1alpha1.JobObject{Kind: kindOf(object), Name: object.GetName(), UID: object.GetUID()})
}

// kindOf returns the kind of what a job is made of.
func kindOf(object client.Object) string {
	switch object.(type) {
	case *corev1.Service:
		return "Service"
	case *corev1.ConfigMap:
		return "ConfigMap"
	default:
		return "Pod"
	}
}

// tell makes an error an event of the job, too.
func (t *task) tell(reason string, err error) error {
	t.news.Eventf(t.job, nil, corev1.EventTypeWarning, reason, "Reconciling", "%s", err.Error())
	return err
}

// delete deletes the pods that the plan says, and the job when its time has come.
func (t *task) delete(ctx context.Context) error {
	for _, index := range t.plan.Delete {
		pod := t.pods[index]
		if err := t.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); !gone(err) {
			return fmt.Errorf("delete pod %s: %w", pod.Name, err)
		}
	}
	if !t.plan.Remove {
		return nil
	}
	err := t.client.Delete(ctx, t.job, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &t.job.UID, ResourceVersion: &t.job.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete job %s, which is over: %w", t.job.Name, err)
	}
	return nil
}

// gone reports whether what was to be deleted is no more: there is nothing of that
// name, or of that UID.
func gone(err error) bool {
	return err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
