package mirror

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// living is a field selector for pods that have not ended. kube-scheduler uses the same selector.
// When a pod ends, a watch with this selector reports the pod as deleted. Ended pods that still
// exist, of which there may be many, are not listed.
const living = "status.phase!=Succeeded,status.phase!=Failed"

// NewInformers returns informers of the objects that the mirror and the filters read. To save
// memory, the informers drop fields that nothing reads (see Trim).
func NewInformers(client kubernetes.Interface) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(Trim))
	factory.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			func(o *metav1.ListOptions) { o.FieldSelector = living })
	})
	return factory
}
