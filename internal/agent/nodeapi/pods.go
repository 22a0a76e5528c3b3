package nodeapi

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// Handlers are functions that are called when pods change. They are called one at a time, in the
// order of the changes. A handler may be nil.
type Handlers struct {
	// Changed is called for each pod that is not terminal: once when the cache receives the pod for
	// the first time, and after each change of the pod.
	Changed func(pod *corev1.Pod)
	// Ended is called when a pod is terminal or deleted. It is called at least once for each pod
	// that ends while the agent runs, or that is terminal when the agent starts. Ended is also
	// called for a deleted mirror pod, although its static pod may still run.
	Ended func(pod *corev1.Pod)
	// Panicked is called when Changed or Ended has panicked. The deferred function that recovers
	// the panic calls it, so that a stack trace taken in Panicked shows where the panic began. If
	// Panicked is nil, a panic ends the process.
	Panicked func(object string, cause any)
}

// Pods is the cache of the pods of one node. It is safe for concurrent use.
type Pods struct {
	client   kubernetes.Interface
	node     string
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
	handled  cache.InformerSynced // the handlers have processed the first list
	mu       struct {
		sync.Mutex
		added chan struct{} // closed when a pod is added, and then replaced by a new channel
	}
}

// These are the names of the indexes of the cache of pods.
const (
	byUID       = "uid"
	byStaticUID = "static-uid" // the UID of the static pod, for pods that claim to be its mirror pod
)

func uidOf(obj any) ([]string, error) { return []string{string(obj.(*corev1.Pod).UID)}, nil }

func staticUIDOf(obj any) ([]string, error) {
	if pod := obj.(*corev1.Pod); v1alpha1.IsMirror(pod) {
		return []string{v1alpha1.NodeUID(pod)}, nil
	}
	return nil, nil
}

// NewPods returns a cache of the node's pods, which stays empty until Run is called. The cache
// leaves out the managed fields of pods, which are large and which the agent does not read.
func NewPods(client kubernetes.Interface, node string, h Handlers) (*Pods, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(trim),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = onNode(node).String() }))
	p := &Pods{client: client, node: node, factory: factory, informer: factory.Core().V1().Pods().Informer()}
	p.mu.added = make(chan struct{})
	if err := p.informer.AddIndexers(cache.Indexers{byUID: uidOf, byStaticUID: staticUIDOf}); err != nil {
		return nil, fmt.Errorf("index pods by UID: %w", err)
	}
	registration, err := p.informer.AddEventHandler(p.handler(h))
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	p.handled = registration.HasSynced
	return p, nil
}

func onNode(name string) fields.Selector { return fields.OneTermEqualSelector("spec.nodeName", name) }

// handler returns the event handler of the informer. It wakes the callers of Wait, and calls the
// functions in h.
func (p *Pods) handler(h Handlers) cache.ResourceEventHandler {
	changed := func(obj any) {
		pod, ok := obj.(*corev1.Pod)
		switch {
		case !ok:
		case v1alpha1.Ended(pod):
			h.call(h.Ended, pod)
		default:
			h.call(h.Changed, pod)
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
				h.call(h.Ended, pod)
			}
		},
	}
}

// call calls a handler and recovers its panic. Otherwise client-go would end the process, and would
// do so again after each restart, because the first list of pods still has the pod that causes the
// panic.
func (h Handlers) call(handle func(*corev1.Pod), pod *corev1.Pod) {
	if handle == nil {
		return
	}
	if h.Panicked != nil {
		defer func() {
			if cause := recover(); cause != nil {
				h.Panicked("pod "+pod.Namespace+"/"+pod.Name, cause)
			}
		}()
	}
	handle(pod)
}

// Run fills the cache of pods and keeps the cache up to date until ctx is done.
func (p *Pods) Run(ctx context.Context) error {
	p.factory.StartWithContext(ctx)
	<-ctx.Done()
	p.factory.Shutdown()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return ctx.Err()
}

// HasSynced reports whether the cache has the first list of pods and the handlers have processed
// this list.
func (p *Pods) HasSynced() bool { return p.handled() }

// WaitForSync returns nil once HasSynced is true, or an error if ctx ends before that.
func (p *Pods) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), p.handled) {
		return fmt.Errorf("list the pods of this node from the API server: %w", ctx.Err())
	}
	return nil
}

// Pod returns a pod from the cache. The parameter `known` has the namespace, name and UID that the
// container runtime has. For a static pod, Pod returns the mirror pod, which has the same namespace
// and name as the static pod. A pod with another name can falsely claim to be the mirror pod: any
// user who is allowed to create pods can create such a pod, with requests that the static pod does
// not have. The method never returns such a pod. It looks up the UID in an index. For a static pod,
// it also compares the namespaces and names of all pods that claim to be the mirror pod.
func (p *Pods) Pod(known workload.Pod) (*corev1.Pod, bool) {
	if own := p.indexed(byUID, known.UID); len(own) > 0 {
		return own[0], true
	}
	for _, pod := range p.Mirrors(known.UID) {
		if pod.Namespace == known.Namespace && pod.Name == known.Name {
			return pod, true
		}
	}
	return nil, false
}

// Mirrors returns the pods that claim to be the mirror pod of the static pod with this UID. The
// caller must find out which of these pods is the real mirror pod.
func (p *Pods) Mirrors(uid string) []*corev1.Pod { return p.indexed(byStaticUID, uid) }

func (p *Pods) indexed(index, uid string) []*corev1.Pod {
	found, err := p.informer.GetIndexer().ByIndex(index, uid)
	if err != nil { // there is no such index, which cannot happen
		return nil
	}
	pods := make([]*corev1.Pod, len(found))
	for i, obj := range found {
		pods[i] = obj.(*corev1.Pod)
	}
	return pods
}

// Wait waits until the pod is in the cache, and returns the pod. If ctx is done before that, Wait
// returns false.
func (p *Pods) Wait(ctx context.Context, known workload.Pod) (*corev1.Pod, bool) {
	for {
		added := p.added()
		if pod, ok := p.Pod(known); ok {
			return pod, true
		}
		select {
		case <-added:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// All returns the pods in the cache, in no particular order.
func (p *Pods) All() []*corev1.Pod {
	list := p.informer.GetIndexer().List()
	pods := make([]*corev1.Pod, len(list))
	for i, obj := range list {
		pods[i] = obj.(*corev1.Pod)
	}
	return pods
}

// Read returns the node's pods as the API server has them now, in no particular order. All returns
// the pods in the cache instead, which may be older.
func (p *Pods) Read(ctx context.Context) ([]*corev1.Pod, error) {
	list, err := p.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: onNode(p.node).String()})
	if err != nil {
		return nil, fmt.Errorf("list the pods of this node from the API server: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// trim removes the managed fields of an object, so that the cache does not store them.
func trim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// added returns a channel that is closed when the cache receives the next new pod.
func (p *Pods) added() <-chan struct{} {
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
