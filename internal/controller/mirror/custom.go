package mirror

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// NewCustom returns an informer of all custom resources of one kind. The parameter `one` is any
// object of this kind. The objects in the informer's cache have the same Go type as `one`.
func NewCustom(config *rest.Config, resource schema.GroupVersionResource, one runtime.Object) (cache.SharedIndexInformer, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the types of %s: %w", v1alpha1.GroupVersion(), err)
	}
	c, version := rest.CopyConfig(config), resource.GroupVersion()
	c.GroupVersion, c.APIPath = &version, "/apis"
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON // custom resources cannot be encoded as protobuf
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", v1alpha1.GroupVersion(), err)
	}
	return custom(cache.NewListWatchFromClient(client, resource.Resource, metav1.NamespaceAll, fields.Everything()), one)
}

func custom(source cache.ListerWatcher, one runtime.Object) (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(source, one, 0, cache.Indexers{})
	if err := informer.SetTransform(Trim); err != nil {
		return nil, fmt.Errorf("watch objects of type %T: %w", one, err)
	}
	return informer, nil
}
