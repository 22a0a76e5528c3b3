package nodeapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Handlers are called one at a time, in the order of the changes. nil ones are
// skipped.
type Handlers struct {
	// Changed is called for each pod that is not terminal: once after the first
	// list, and after each change.
	Changed func(pod *corev1.Pod)
	// Ended is called when a pod is terminal or deleted, at least once for each
	// that ends while the agent runs or is terminal when it starts. A deleted
	// mirror pod does not mean that its static pod has ended.
	Ended func(pod *corev1.Pod)
}

// Pods is the cache of the pods of one node. It is safe for concurrent use.
type Pods struct {
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
	handled  cache.InformerSynced // the handlers have processed the first list
	mu       struct {
		sync.Mutex
		added chan struct{} // closed and replaced when a pod is added
	}
}

// byUID is the name of the index of the UIDs that the runtime uses for pods.
const byUID = "uid"

// NewPods returns a cache that is empty until Run. It drops managed
// fields, which are a large part of a pod and have no reader here.
func NewPods(client kubernetes.Interface, node string, h Handlers) (*Pods, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(trim),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
		}))
	p := &Pods{factory: factory, informer: factory.Core().V1().Pods().Informer()}
	p.mu.added = make(chan struct{})
	index := func(obj any) ([]string, error) {
		pod := obj.(*corev1.Pod)
		return []string{string(pod.UID), v1alpha1.NodeUID(pod)}, nil
	}
	if err := p.informer.AddIndexers(cache.Indexers{byUID: index}); err != nil {
		return nil, fmt.Errorf("index pods by UID: %w", err)
	}
	registration, err := p.informer.AddEventHandler(p.handler(h))
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	p.handled = registration.HasSynced
	return p, nil
}

// handler wakes the callers of Wait and calls the handlers.
func (p *Pods) handler(h Handlers) cache.ResourceEventHandler {
	changed := func(obj any) {
		pod, ok := obj.(*corev1.Pod)
		switch {
		case !ok:
		case v1alpha1.Ended(pod):
			call(h.Ended, pod)
		default:
			call(h.Changed, pod)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { p.wake(); changed(obj) },
		UpdateFunc: func(_, obj any) { changed(obj) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				call(h.Ended, pod)
			}
		},
	}
}

func call(handle func(*corev1.Pod), pod *corev1.Pod) {
	if handle != nil {
		handle(pod)
	}
}

// Run fills the cache and keeps it up to date until ctx is done.
func (p *Pods) Run(ctx context.Context) error {
	p.factory.StartWithContext(ctx)
	<-ctx.Done()
	p.factory.Shutdown()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return ctx.Err()
}

// HasSynced reports whether the cache has the first list and the handlers have
// processed it.
func (p *Pods) HasSynced() bool { return p.handled() }

// WaitForSync returns when HasSynced does, or with ctx's error.
func (p *Pods) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), p.handled) {
		return fmt.Errorf("list the pods of this node from the API server: %w", ctx.Err())
	}
	return nil
}

// Pod returns the pod that the runtime knows by uid. O(1), from the cache. A pod
// with that UID takes precedence over one with an annotation that makes it the
// mirror pod of that UID, because any user can set the annotation.
func (p *Pods) Pod(uid string) (*corev1.Pod, bool) {
	found, err := p.informer.GetIndexer().ByIndex(byUID, uid)
	if err != nil || len(found) == 0 {
		return nil, false
	}
	own := slices.IndexFunc(found, func(obj any) bool { return string(obj.(*corev1.Pod).UID) == uid })
	return found[max(own, 0)].(*corev1.Pod), true
}

// Wait returns the pod as soon as it is in the cache, and false if ctx is done
// before that.
func (p *Pods) Wait(ctx context.Context, uid string) (*corev1.Pod, bool) {
	for {
		added := p.Added()
		if pod, ok := p.Pod(uid); ok {
			return pod, true
		}
		select {
		case <-added:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// All returns the pods in the cache, in no order.
func (p *Pods) All() []*corev1.Pod {
	list := p.informer.GetIndexer().List()
	pods := make([]*corev1.Pod, len(list))
	for i, obj := range list {
		pods[i] = obj.(*corev1.Pod)
	}
	return pods
}

// trim drops managed fields.
func trim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// Added returns a channel that is closed when the next pod is added.
func (p *Pods) Added() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.added
}

func (p *Pods) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.mu.added)
	p.mu.added = make(chan struct{})
}
