package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// failed selects the pods that the mirror does not read: of one that an agent
// ends it hears as of one that is gone, without the reason.
const failed = "status.phase=Failed"

// NewRejected returns an informer that tells of each pod that an agent ends for
// its placement, by the UID of the pod's controlling owner and the node; of bare
// pods it does not. Those that had ended when it starts are history. It keeps a
// few words of every failed pod.
func NewRejected(client kubernetes.Interface, told func(owner, node string)) (cache.SharedIndexInformer, error) {
	informer := coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.FieldSelector = failed })
	if err := informer.SetTransform(end); err != nil {
		return nil, fmt.Errorf("watch failed pods: %w", err)
	}
	tell := func(obj any) {
		pod := obj.(*corev1.Pod)
		if owner := metav1.GetControllerOf(pod); owner != nil && rejected(pod) {
			told(string(owner.UID), pod.Spec.NodeName)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
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
	if err != nil {
		return nil, fmt.Errorf("watch failed pods: %w", err)
	}
	return informer, nil
}

// rejected goes by the condition: the kubelet may take the reason off when it
// makes the phase its own.
func rejected(pod *corev1.Pod) bool {
	_, told := v1alpha1.Rejection(pod)
	return told && pod.Status.Phase == corev1.PodFailed
}

// end keeps of a pod where and why it ended, and whose it was.
func end(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			ResourceVersion: pod.ResourceVersion, OwnerReferences: pod.OwnerReferences,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions},
	}, nil
}
