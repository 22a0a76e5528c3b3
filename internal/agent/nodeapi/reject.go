package nodeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Rejecter sets the phase of pods to Failed. It does so in the background, because a hook of the
// container runtime must not wait for the API server. It retries until the API server has accepted
// the new status, or the pod was deleted. If the kubelet overwrites the status later, Rejecter sets
// the phase to Failed again (see Enforce).
type Rejecter struct {
	client kubernetes.Interface
	now    func() time.Time
	queue  workqueue.TypedRateLimitingInterface[rejection]
}

// rejection is a pod to set to Failed, and the reason and message for the status of the pod.
type rejection struct {
	pod             PodRef
	reason, message string
}

// NewRejecter returns a Rejecter that sends nothing until Run is called.
func NewRejecter(client kubernetes.Interface, now func() time.Time) *Rejecter {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[rejection](100*time.Millisecond, 30*time.Second)
	return &Rejecter{client: client, now: now, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// Reject sets a pod's phase to Failed, with a CamelCase reason and a message. It does not block.
func (r *Rejecter) Reject(pod PodRef, reason, message string) {
	r.queue.Add(rejection{pod, reason, message})
}

// Enforce sets a pod to Failed again if it was rejected but is not terminal. Call it for each
// change of a pod. The kubelet may overwrite the phase Failed of a rejected pod with the phase that
// it last computed itself. This happens if the kubelet writes the pod's status before it has
// handled the change of the phase. If it handles the change first, it ends the pod, and the phase
// stays Failed. The kubelet never removes the condition that marks a rejected pod, so Enforce also
// works after a restart of the agent.
// Source: mergePodStatus and needsReconcile in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/status/status_manager.go,
// UpdatePod in https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/pod_workers.go.
func (r *Rejecter) Enforce(pod *corev1.Pod) {
	if c, rejected := v1alpha1.Rejection(pod); rejected && !v1alpha1.Ended(pod) {
		r.Reject(PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}, c.Reason, c.Message)
	}
}

// Run sets the rejected pods to Failed until ctx ends.
func (r *Rejecter) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	for {
		next, ended := r.queue.Get()
		if ended {
			return nil
		}
		if err := r.fail(ctx, next); err == nil {
			r.queue.Forget(next)
		} else {
			logr.FromContextOrDiscard(ctx).Error(err, "cannot reject a pod; retrying")
			r.queue.AddRateLimited(next)
		}
		r.queue.Done(next)
	}
}

// fail sets the pod's phase to Failed with a patch. The patch has the pod's UID, so that the API
// server refuses it for a later pod with the same name. It is no error if the pod was deleted. The
// patch adds a condition for two reasons. The podFailurePolicy of a Job can ignore failures with
// this condition. Enforce finds rejected pods by this condition, because the kubelet may remove the
// reason of the status, but never the condition. The patch also changes an annotation, which makes
// the kubelet sync the pod at once. Without this change, the kubelet might set the pod to Pending
// again for up to ten seconds, although the pod's Job has already created the next pod.
// Source: checkAndUpdatePod in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/config/config.go.
func (r *Rejecter) fail(ctx context.Context, f rejection) error {
	now := metav1.NewTime(r.now())
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid":         f.pod.UID,
			"annotations": map[string]string{v1alpha1.AnnotationRejectedAt: now.UTC().Format(time.RFC3339Nano)},
		},
		"status": map[string]any{
			"phase": corev1.PodFailed, "reason": f.reason, "message": f.message,
			"conditions": []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: f.reason, Message: f.message, LastTransitionTime: now,
			}},
		},
	})
	if err != nil {
		return fmt.Errorf("encode status patch: %w", err)
	}
	_, err = r.client.CoreV1().Pods(f.pod.Namespace).Patch(ctx, f.pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: Component}, "status")
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("set pod %s/%s to Failed (%s): %w", f.pod.Namespace, f.pod.Name, f.reason, err)
}
