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

// least returns how many pods have to start together: so many as the job needs, less
// those that have succeeded and will not start again.
func (t *task) least() int {
	return int(t.job.Spec.MinAvailable) - t.plan.Done.Below(int(t.job.Spec.Replicas))
}

// gather makes a new pod start together with others.
func (t *task) gather(pod *corev1.Pod) {
	if least := t.least(); least > 1 {
		pod.Labels[v1alpha1.LabelGang] = t.job.Name
		pod.Annotations[v1alpha1.AnnotationGangMinAvailable] = strconv.Itoa(least)
	}
}

// regather tells the pods that wait with how many others they start now. Of those whom
// they were made to start with some may have succeeded since: for these they would wait
// for ever.
func (t *task) regather(ctx context.Context) error {
	least := strconv.Itoa(max(t.least(), 1))
	for _, index := range slices.Sorted(maps.Keys(t.pods)) {
		pod := t.pods[index]
		if !t.gathers(pod) || pod.Annotations[v1alpha1.AnnotationGangMinAvailable] == least {
			continue
		}
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, pod.UID, v1alpha1.AnnotationGangMinAvailable, least)
		if err := t.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); !gone(err) {
			return fmt.Errorf("tell pod %s with how many others it starts: %w", pod.Name, err)
		}
	}
	return nil
}

// gathers reports whether a pod was made to start together with others, and has not
// got a node yet.
func (t *task) gathers(pod *corev1.Pod) bool {
	bound := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue
	})
	return !bound && pod.Labels[v1alpha1.LabelGang] == t.job.Name && pod.DeletionTimestamp == nil &&
		(pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "")
}
