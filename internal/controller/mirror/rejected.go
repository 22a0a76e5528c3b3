package mirror

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// NewRejected returns an informer that calls notify for each pod whose placement an agent
// rejects, with the UID of its controlling owner and the node. Pods without an owner and
// pods that had ended before the start are skipped.
func NewRejected(client kubernetes.Interface, notify func(owner, node string), panicked Panicked) (cache.SharedIndexInformer, error) {
	report := func(obj any) {
		pod := obj.(*corev1.Pod)
		if owner := ownerOf(pod); owner != "" && rejected(pod) {
			notify(owner, pod.Spec.NodeName)
		}
	}
	informer, _, err := newEnded(client, metav1.ListOptions{FieldSelector: "status.phase=Failed"}, cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				report(obj)
			}
		},
		UpdateFunc: func(before, now any) {
			if !rejected(before.(*corev1.Pod)) {
				report(now)
			}
		},
	}, panicked)
	return informer, err
}

// rejected checks the condition because the kubelet may remove the reason of the phase
// when it sets the phase itself.
func rejected(pod *corev1.Pod) bool {
	_, ok := v1alpha1.Rejection(pod)
	return ok && pod.Status.Phase == corev1.PodFailed
}
