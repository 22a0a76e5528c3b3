package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/numalet/numalet/api/v1alpha1"
)

// gangSize returns how many pods of the job must start together. This is spec.minAvailable minus
// the number of pods that have succeeded, because succeeded pods do not start again.
func (t *task) gangSize() int {
	return int(t.job.Spec.MinAvailable) - t.plan.Done.Below(int(t.job.Spec.Replicas))
}

// joinGang adds a new pod to the job's gang, if the pod must start together with other pods of
// the job.
func (t *task) joinGang(pod *corev1.Pod) {
	if size := t.gangSize(); size > 1 {
		pod.Labels[v1alpha1.LabelGang] = t.job.Name
		pod.Annotations[v1alpha1.AnnotationGangMinAvailable] = strconv.Itoa(size)
	}
}

// updateGang corrects the gang size of pending pods. Without this correction, a pending pod would
// wait forever for pods of the job that have succeeded since the pending pod was created.
func (t *task) updateGang(ctx context.Context) error {
	size := strconv.Itoa(max(t.gangSize(), 1))
	for _, index := range slices.Sorted(maps.Keys(t.pods)) {
		pod := t.pods[index]
		if !t.waitsForGang(pod) || pod.Annotations[v1alpha1.AnnotationGangMinAvailable] == size {
			continue
		}
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, pod.UID, v1alpha1.AnnotationGangMinAvailable, size)
		if err := t.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); !doneOrGone(err) {
			return fmt.Errorf("update the gang size of pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// waitsForGang reports whether a pod belongs to the gang and is not bound yet.
func (t *task) waitsForGang(pod *corev1.Pod) bool {
	bound := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue
	})
	return !bound && pod.Labels[v1alpha1.LabelGang] == t.job.Name && pod.DeletionTimestamp == nil &&
		(pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "")
}
