package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// NewTopologies returns an informer of the cluster's NodeTopologies.
func NewTopologies(config *rest.Config) (cache.SharedIndexInformer, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the types of %s: %w", v1alpha1.GroupVersion(), err)
	}
	c, version := rest.CopyConfig(config), v1alpha1.GroupVersion()
	c.GroupVersion, c.APIPath = &version, "/apis"
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON // custom resources have no protobuf
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", v1alpha1.GroupVersion(), err)
	}
	resource := v1alpha1.NodeTopologyResource().Resource
	return topologies(cache.NewListWatchFromClient(client, resource, "", fields.Everything()))
}

func topologies(source cache.ListerWatcher) (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(source, &v1alpha1.NodeTopology{}, 0, cache.Indexers{})
	if err := informer.SetTransform(Trim); err != nil {
		return nil, fmt.Errorf("watch node topologies: %w", err)
	}
	return informer, nil
}
