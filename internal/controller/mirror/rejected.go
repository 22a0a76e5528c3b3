package mirror

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// NewRejected returns an informer of failed pods. The informer calls the function given as `notify`
// for each pod whose placement the agent of its node has rejected. It passes the UID of the object
// that controls the pod, such as a Job, and the name of the node. The informer does not call the
// function for pods that no object controls, or for failed pods in its initial list.
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

// rejected reports whether a pod has failed because the agent of its node has rejected its
// placement. It reads a condition and not the field status.reason, because the kubelet may remove
// this reason when it sets the phase.
func rejected(pod *corev1.Pod) bool {
	_, ok := v1alpha1.Rejection(pod)
	return ok && pod.Status.Phase == corev1.PodFailed
}
