package mirror

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// newEnded returns an informer that calls h for ended pods. The parameter `which` has the field
// selector and the label selector of these pods. (The mirror's own informer of pods leaves out all
// ended pods.) The second result reports whether h has handled the initial list. To save memory,
// the informer keeps only a few fields of each pod.
func newEnded(client kubernetes.Interface, which metav1.ListOptions, h cache.ResourceEventHandler, report Panicked) (cache.SharedIndexInformer, cache.InformerSynced, error) {
	informer := coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector, o.LabelSelector = which.FieldSelector, which.LabelSelector
	})
	if err := informer.SetTransform(end); err != nil {
		return nil, nil, fmt.Errorf("watch pods with %s: %w", which.FieldSelector, err)
	}
	registration, err := informer.AddEventHandler(Contain(h, report))
	if err != nil {
		return nil, nil, fmt.Errorf("watch pods with %s: %w", which.FieldSelector, err)
	}
	return informer, registration.HasSynced, nil
}

// end returns a copy of a pod with only these fields: identity, owners, gang, node, phase and
// conditions.
func end(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			ResourceVersion: pod.ResourceVersion, OwnerReferences: pod.OwnerReferences,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions},
	}
	if gang := pod.Labels[v1alpha1.LabelGang]; gang != "" {
		kept.Labels = map[string]string{v1alpha1.LabelGang: gang}
	}
	return kept, nil
}
