package mirror

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// Newest is how new what a mirror was told of pods is: the largest resource
// version. They grow over all objects of a type, and a watch tells of them in
// that order.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
type Newest struct{ version atomic.Uint64 }

// told passes events on, and notes each afterwards. An informer calls its handler
// from one goroutine.
func (n *Newest) told(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { h.OnAdd(obj, initial); n.note(obj) },
		UpdateFunc: func(before, obj any) { h.OnUpdate(before, obj); n.note(obj) },
		DeleteFunc: func(obj any) { h.OnDelete(obj); n.note(obj) },
	}
}

func (n *Newest) note(obj any) {
	if o, ok := obj.(metav1.Object); ok {
		n.version.Store(max(n.version.Load(), version(o)))
	}
}

// version returns an object's resource version, 0 where it has none.
func version(o metav1.Object) uint64 {
	v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// CatchUp waits until the mirror was told of every bind that the API server knows
// of now. Informers that have long been synced may lag behind, by what another one
// bound at last. It costs O(bound pods), of which it reads the metadata.
func (n *Newest) CatchUp(ctx context.Context, client metadata.Interface) error {
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) })
	list.PageSize = 5000
	newest := uint64(0)
	bound := metav1.ListOptions{FieldSelector: "spec.nodeName!=," + living}
	err := list.EachListItem(ctx, bound, func(obj runtime.Object) error {
		newest = max(newest, version(obj.(metav1.Object)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("list bound pods: %w", err)
	}
	for n.version.Load() < newest {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the last binds: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
