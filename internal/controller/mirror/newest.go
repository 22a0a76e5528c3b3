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

// Newest is the largest resource version of the pods that the mirror has handled.
// Resource versions increase over all objects of a type, and a watch delivers events in
// their order.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
type Newest struct{ version atomic.Uint64 }

// track returns a handler that calls h and then records the object's version. An informer
// calls its handler from one goroutine.
func (n *Newest) track(h cache.ResourceEventHandler) cache.ResourceEventHandler {
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

// version returns an object's resource version, or 0.
func version(o metav1.Object) uint64 {
	v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// CatchUp waits until the mirror has handled every binding that the API server has now.
// A synced informer may still lag behind the last bindings of a former leader. It costs
// O(bound pods) and reads only their metadata.
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
