package mirror

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// living is a field selector for pods that have not ended. kube-scheduler uses the same selector.
// When a pod ends, a watch with this selector reports the pod as deleted. Ended pods that still
// exist, of which there may be many, are not listed.
const living = "status.phase!=Succeeded,status.phase!=Failed"

// NewInformers returns informers of the objects that the mirror and the filters read. To save
// memory, the informers drop the managed fields (see Trim). The parameter `pods` is the client that
// reads pods (see package podreader).
func NewInformers(client kubernetes.Interface, pods typedcorev1.PodsGetter) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(Trim))
	factory.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		source := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.FieldSelector = living
				return pods.Pods(metav1.NamespaceAll).List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.FieldSelector = living
				return pods.Pods(metav1.NamespaceAll).Watch(ctx, o)
			},
		}
		return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, client), &corev1.Pod{}, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	})
	return factory
}
