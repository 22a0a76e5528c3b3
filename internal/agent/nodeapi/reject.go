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

// Rejecter sets pods Failed, in the background: a hook of the runtime must not
// wait for the API server. It tries each until the API server has taken it, and
// again whenever the kubelet has taken it back (see Keep).
type Rejecter struct {
	client kubernetes.Interface
	now    func() time.Time
	queue  workqueue.TypedRateLimitingInterface[rejection]
}

// rejection is what one pod is told.
type rejection struct {
	pod             Sandbox
	reason, message string
}

// NewRejecter returns one that does nothing before Run.
func NewRejecter(client kubernetes.Interface, now func() time.Time) *Rejecter {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[rejection](100*time.Millisecond, 30*time.Second)
	return &Rejecter{client: client, now: now, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// Reject sets a pod Failed for good, with a reason in CamelCase and a sentence.
// It returns at once.
func (r *Rejecter) Reject(pod Sandbox, reason, message string) {
	r.queue.Add(rejection{pod, reason, message})
}

// Keep sets a pod Failed again that was rejected and is not terminal. The
// kubelet believes a phase that others write only when it syncs the pod while
// the API server still says so; a status that it sends in between still has the
// phase of its own. It is to be called for each change of a pod; the condition,
// which the kubelet leaves alone, tells also an agent that was restarted since.
// Source: mergePodStatus and needsReconcile in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/status/status_manager.go,
// UpdatePod in https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/pod_workers.go.
func (r *Rejecter) Keep(pod *corev1.Pod) {
	if c, rejected := v1alpha1.Rejection(pod); rejected && !v1alpha1.Ended(pod) {
		r.Reject(Sandbox{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}, c.Reason, c.Message)
	}
}

// Run works until ctx ends.
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
			logr.FromContextOrDiscard(ctx).Error(err, "trying again")
			r.queue.AddRateLimited(next)
		}
		r.queue.Done(next)
	}
}

// fail patches the pod's status. Its UID is a precondition: a pod of the same
// name made meanwhile is left alone, and one that is gone needs no more. The
// condition is there for Jobs, whose podFailurePolicy may ignore such failures,
// and because the kubelet never takes it off, as it might the reason. The annotation
// is a change of more than the status, so the kubelet syncs the pod at once; of the
// status alone it would take note only when it syncs the pod for another cause, and
// until then, for up to ten seconds, might set it Pending again, where a Job that made
// the next pod already has one too many.
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
	return fmt.Errorf("set pod %s/%s failed (%s): %w", f.pod.Namespace, f.pod.Name, f.reason, err)
}
