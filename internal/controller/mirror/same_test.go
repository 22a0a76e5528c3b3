package mirror

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestSamePod checks which changes of a pod are ignored by the function samePod, and which are
// noticed.
func TestSamePod(t *testing.T) {
	claim := "made-for-it"
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":        {func(*corev1.Pod) {}, true},
		"a condition":    {func(pod *corev1.Pod) { pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}} }, true},
		"an address":     {func(pod *corev1.Pod) { pod.Status.PodIP = "10.0.0.1" }, true},
		"running":        {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }, true},
		"ended":          {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }, false},
		"bound":          {func(pod *corev1.Pod) { pod.Spec.NodeName = "n2" }, false},
		"other spec":     {func(pod *corev1.Pod) { pod.Generation, pod.Spec.Containers[0].Image = 2, "other" }, false},
		"spec, no count": {func(pod *corev1.Pod) { pod.Generation, pod.Spec.Containers[0].Image = 0, "other" }, false},
		"a label":        {func(pod *corev1.Pod) { pod.Labels = map[string]string{"a": "b"} }, false},
		"an annotation":  {func(pod *corev1.Pod) { pod.Annotations = map[string]string{"numalet.dev/gpu-type": "T4"} }, false},
		"a foreign one":  {func(pod *corev1.Pod) { pod.Annotations = map[string]string{"example.com/checked": "12:00"} }, true},
		"being deleted":  {func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }, false},
		"another one":    {func(pod *corev1.Pod) { pod.UID = "anew" }, false},
		"a claim is made": {func(pod *corev1.Pod) {
			pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim}}
		}, false},
		"resized": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: corev1.ResourceList{"cpu": quantity("2")}}}
		}, false},
		"resize is infeasible": {func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := podOf("a", scenario.Words{"cpu=1", "node=n1"})
			before.Generation = 1
			now := before.DeepCopy()
			tc.change(now)
			if got := samePod(before, now); got != tc.want {
				t.Errorf("samePod() = %v, want %v", got, tc.want)
			}
		})
	}
}
