package hollowcluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Witness watches all pods and checks with a Ledger that no resource is assigned twice. It can also
// keep a cluster nearly full for a long time. For this, it counts the bound pods after each change
// of a pod. If more pods are bound than a given number, it deletes the pod that was bound first. If
// no waiting pod fits any more, no pod is bound, and so none would be deleted. So the Witness also
// deletes a pod at regular intervals.
type Witness struct {
	client kubernetes.Interface
	keep   int
	ends   chan *corev1.Pod
	spares atomic.Bool
	mu     struct {
		sync.Mutex
		ledger Ledger
		places []*corev1.Pod // bound pods in the order of their bindings
		errs   []error
	}
}

// enders is the number of pods that are deleted at the same time.
const enders = 4

// Witness returns a Witness that watches all pods until ctx ends. If the parameter `keep` is 0, the
// Witness deletes no pods. Otherwise it deletes pods while more than `keep` pods are bound.
func (p *Plane) Witness(ctx context.Context, keep int) (*Witness, error) {
	client, err := p.API()
	if err != nil {
		return nil, err
	}
	w := &Witness{client: client, keep: keep, ends: make(chan *corev1.Pod, 10_000)}
	w.mu.ledger.Room = map[string]Amounts{}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		w.mu.ledger.Room[node.Name] = AmountsOf(node.Status.Allocatable)
	}
	events, err := allPods(ctx, client)
	if err != nil {
		return nil, err
	}
	go w.follow(ctx, events)
	for range enders {
		go w.end(ctx)
	}
	return w, nil
}

// allPods watches all pods from now on, and returns a channel with the events. It reconnects when
// the connection is lost.
func allPods(ctx context.Context, client kubernetes.Interface) (<-chan watch.Event, error) {
	pods := client.CoreV1().Pods(metav1.NamespaceAll)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	return w.ResultChan(), nil
}

func (w *Witness) follow(ctx context.Context, events <-chan watch.Event) {
	drain := time.NewTicker(time.Minute / time.Duration(3*max(1, w.keep)))
	defer drain.Stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				w.fail(ctx, errors.New("the watch of all pods has ended"))
				return
			}
			w.see(e)
		case <-drain.C:
			w.makeRoom(0)
		}
	}
}

func (w *Witness) see(e watch.Event) {
	w.mu.Lock()
	bound, err := w.mu.ledger.See(e)
	if err != nil {
		w.mu.errs = append(w.mu.errs, err)
	}
	if bound {
		w.mu.places = append(w.mu.places, e.Object.(*corev1.Pod))
	}
	w.mu.Unlock()
	w.makeRoom(w.keep)
}

// makeRoom puts one pod into the queue for deletion, if more pods are bound than the parameter `keep`
// says. It selects the pod that was bound first.
func (w *Witness) makeRoom(keep int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keep > 0 && len(w.mu.places) > keep {
		w.ends <- w.mu.places[0]
		w.mu.places = w.mu.places[1:]
	}
}

func (w *Witness) end(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case pod := <-w.ends:
			if w.spares.Load() {
				time.Sleep(500 * time.Millisecond)
			}
			err := w.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
			if err != nil && !apierrors.IsNotFound(err) {
				w.fail(ctx, fmt.Errorf("end pod %s: %w", pod.Name, err))
			}
		}
	}
}

// Spare calls the function f. While f runs, the Witness deletes at most eight pods a second. So free
// resources become available only slowly, and some pods keep waiting.
func (w *Witness) Spare(f func()) {
	w.spares.Store(true)
	defer w.spares.Store(false)
	f()
}

func (w *Witness) fail(ctx context.Context, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil {
		w.mu.errs = append(w.mu.errs, err)
	}
}

// Said returns how many pods were bound so far, and all errors that have occurred so far.
func (w *Witness) Said() (bound int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.ledger.Bound(), errors.Join(w.mu.errs...)
}

// Await waits until n pods were bound. It returns an error if Said reports an error, or if no
// further pod is bound for stallTimeout. While it waits, it calls the function given as `tend` every
// few milliseconds.
func (w *Witness) Await(ctx context.Context, n int, stallTimeout time.Duration, tend func()) error {
	last, stuck := -1, time.Now()
	for {
		bound, err := w.Said()
		if err != nil || bound >= n {
			return err
		}
		if bound != last {
			last, stuck = bound, time.Now()
		}
		if time.Since(stuck) > stallTimeout {
			return fmt.Errorf("%d of %d pods were bound, and none more within %v", bound, n, stallTimeout)
		}
		tend()
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods were bound: %w", bound, n, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
