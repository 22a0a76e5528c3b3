package mirror

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Watch makes the informers of nodes, NodeTopologies and pods call a mirror. It does not start the
// informers. The functions that it returns report whether the mirror has handled the initial lists.
// The returned Newest has the largest resource version of the pods that the mirror has handled.
func Watch(factory informers.SharedInformerFactory, topologies cache.SharedIndexInformer, m *Mirror) ([]cache.InformerSynced, *Newest, error) {
	core, newest := factory.Core().V1(), &Newest{}
	var synced []cache.InformerSynced
	for _, w := range []struct {
		what     string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{"nodes", core.Nodes().Informer(), handle(m.SetNode, func(node *corev1.Node) { m.RemoveNode(node.Name) }, sameVersion)},
		{"node topologies", topologies, handle(m.SetTopology, func(topology *v1alpha1.NodeTopology) { m.RemoveTopology(topology.Name) }, sameVersion)},
		{"pods", core.Pods().Informer(), handle(m.SetPod, m.RemovePod, samePod)},
	} {
		handler := Contain(w.handler, m.env.Panicked)
		if w.what == "pods" {
			handler = newest.track(handler)
		}
		r, err := w.informer.AddEventHandler(handler)
		if err != nil {
			return nil, nil, fmt.Errorf("watch %s: %w", w.what, err)
		}
		synced = append(synced, r.HasSynced)
	}
	return synced, newest, nil
}

// Handle returns an event handler. The handler calls the function given as `set` when an object is
// added or changes, and the function given as `remove` when an object is deleted.
func Handle[T metav1.Object](set, remove func(T)) cache.ResourceEventHandler {
	return handle(set, remove, sameVersion)
}

// handle is like Handle, but the event handler skips an update if the function given as `same` says
// that the object is unchanged. If an update replaces a deleted object by a new object with the
// same name, the handler removes the old object first.
func handle[T metav1.Object](set, remove func(T), same func(before, now T) bool) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { set(obj.(T)) },
		UpdateFunc: func(before, obj any) {
			old, now := before.(T), obj.(T)
			if old.GetUID() != now.GetUID() {
				remove(old)
			}
			if !same(old, now) {
				set(now)
			}
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if object, ok := obj.(T); ok {
				remove(object)
			}
		},
	}
}

// sameVersion reports whether two objects are the same version of the same object.
func sameVersion[T metav1.Object](a, b T) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() != "" && a.GetResourceVersion() == b.GetResourceVersion()
}

// Trim is a transform function for informers. To save memory, it drops the managed fields of an
// object, which nothing reads.
func Trim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
