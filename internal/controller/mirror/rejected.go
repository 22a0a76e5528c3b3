package mirror

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// NewRejected returns an informer that tells of each pod that an agent ends for
// its placement, by the UID of the pod's controlling owner and the node; of bare
// pods it does not. Those that had ended when it starts are history.
func NewRejected(client kubernetes.Interface, told func(owner, node string)) (cache.SharedIndexInformer, error) {
	tell := func(obj any) {
		pod := obj.(*corev1.Pod)
		if owner := ownerOf(pod); owner != "" && rejected(pod) {
			told(owner, pod.Spec.NodeName)
		}
	}
	informer, _, err := newEnded(client, metav1.ListOptions{FieldSelector: "status.phase=Failed"}, cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				tell(obj)
			}
		},
		UpdateFunc: func(before, now any) {
			if !rejected(before.(*corev1.Pod)) {
				tell(now)
			}
		},
	})
	return informer, err
}

// rejected goes by the condition: the kubelet may take the reason off when it
// makes the phase its own.
func rejected(pod *corev1.Pod) bool {
	_, told := v1alpha1.Rejection(pod)
	return told && pod.Status.Phase == corev1.PodFailed
}
