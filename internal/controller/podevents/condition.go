package podevents

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mark sets the condition PodScheduled to false, which is what autoscalers and
// people look for. A pod that is gone needs none.
func (r *Reporter) mark(ctx context.Context, f failure) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": f.pod.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: f.reason,
			Message: f.message, LastTransitionTime: metav1.NewTime(time.Now()),
		}}},
	})
	if err != nil {
		return fmt.Errorf("encode condition of pod %s: %w", f.pod, err)
	}
	_, err = r.client.CoreV1().Pods(f.pod.Namespace).Patch(ctx, f.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("set condition PodScheduled of pod %s: %w", f.pod, err)
	}
	return nil
}
