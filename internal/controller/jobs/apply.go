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

// create creates the missing objects of a job. It begins with the Service and the ConfigMap, by
// which the pods find each other. Then it creates the pods in the plan, and corrects the gang size
// (the number of pods that must start together) in the annotations of pending pods. It stops at the
// first error. It does nothing if the job's pod template is invalid.
func (t *task) create(ctx context.Context) error {
	if t.spec == nil {
		return nil
	}
	if err := t.applyRendezvous(ctx); err != nil {
		return t.recordError(v1alpha1.EventFailedCreate, err)
	}
	for _, creation := range t.plan.Create {
		pod := t.newPod(creation)
		if err := errors.Join(t.own(pod), t.createObject(ctx, pod)); err != nil {
			return t.recordError(v1alpha1.EventFailedCreate, err)
		}
		t.addObject(pod)
	}
	return t.updateGang(ctx)
}

// createObject creates an object. If the object already exists and belongs to the job, createObject
// returns no error: the cache may have been out of date.
func (t *task) createObject(ctx context.Context, object client.Object) error {
	err := t.client.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return t.checkOwner(ctx, object)
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", kindOf(object), object.GetName(), err)
	}
	return nil
}

// checkOwner reads an existing object. It returns an error if the object does not belong to the job.
func (t *task) checkOwner(ctx context.Context, object client.Object) error {
	if err := t.fresh.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("read %s %s: %w", kindOf(object), object.GetName(), err)
	}
	return t.checkOwned(object)
}

// checkOwned returns an error if an object that was read does not belong to the job.
func (t *task) checkOwned(object client.Object) error {
	if !metav1.IsControlledBy(object, t.job) {
		return fmt.Errorf("%s %s exists and does not belong to this job: delete it, or rename the job", kindOf(object), object.GetName())
	}
	return nil
}

// own makes an object belong to the job: it adds labels with the job's name and tenant, and sets
// the job as the object's controller.
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

// addObject adds an object to t.objects, which becomes the list of objects in the job's status.
func (t *task) addObject(object client.Object) {
	t.objects = append(t.objects, v1alpha1.JobObject{Kind: kindOf(object), Name: object.GetName(), UID: object.GetUID()})
}

// kindOf returns the Kubernetes kind of an object that belongs to a job.
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

// recordError records an error as an event of the job, and returns it.
func (t *task) recordError(reason string, err error) error {
	t.recorder.Eventf(t.job, nil, corev1.EventTypeWarning, reason, "Reconciling", "%s", err.Error())
	return err
}

// delete deletes the pods that t.plan names. If ttlSecondsAfterFinished of the job has passed
// (t.plan.Remove), it also deletes the job.
func (t *task) delete(ctx context.Context) error {
	for _, index := range t.plan.Delete {
		pod := t.pods[index]
		if err := t.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); !doneOrGone(err) {
			return fmt.Errorf("delete pod %s: %w", pod.Name, err)
		}
	}
	if !t.plan.Remove {
		return nil
	}
	err := t.client.Delete(ctx, t.job, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &t.job.UID, ResourceVersion: &t.job.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete job %s after ttlSecondsAfterFinished: %w", t.job.Name, err)
	}
	return nil
}

// doneOrGone reports whether a request to change or delete an object succeeded (err is nil), or
// failed because the object does not exist any more. The request must contain the UID of the
// object. So the error "conflict" means that there is a new object with the same name and another
// UID.
func doneOrGone(err error) bool {
	return err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
