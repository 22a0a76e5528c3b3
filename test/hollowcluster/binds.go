package hollowcluster

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// Binds counts the bound pods of a namespace. It watches only the metadata of bound pods, so that
// the counting costs little compared with the scheduler under test.
type Binds struct {
	stop context.CancelFunc
	done chan struct{}
	mu   struct {
		sync.Mutex
		at map[string]time.Time // when each pod was first seen bound, by name
	}
	changed chan struct{}
}

// CountBinds starts to count the bound pods of a namespace. The method Stop ends the counting.
func (p *Plane) CountBinds(ctx context.Context, namespace string) (*Binds, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	informer := metadatainformer.NewFilteredMetadataInformer(client, corev1.SchemeGroupVersion.WithResource("pods"), namespace, 0, nil,
		func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName!=" }).Informer()
	b := &Binds{done: make(chan struct{}), changed: make(chan struct{}, 1)}
	b.mu.at = map[string]time.Time{}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) { b.see(o.(metav1.Object).GetName()) }})
	if err != nil {
		return nil, err
	}
	ctx, b.stop = context.WithCancel(ctx)
	go func() { informer.RunWithContext(ctx); close(b.done) }()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil, fmt.Errorf("list bound pods of %s: %w", namespace, ctx.Err())
	}
	return b, nil
}

func (b *Binds) see(name string) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.mu.at[name]; !known {
		b.mu.at[name] = now
	}
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Stop ends the counting.
func (b *Binds) Stop() {
	b.stop()
	<-b.done
}

// At returns when each pod was first seen bound, by name.
func (b *Binds) At() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.mu.at)
}

// Await waits until n pods are bound. If no more pods are bound for stallTimeout, it returns an
// error with the number of bound pods.
func (b *Binds) Await(ctx context.Context, n int, stallTimeout time.Duration) error {
	stuck := time.NewTimer(stallTimeout)
	defer stuck.Stop()
	for {
		have := b.count()
		if have >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods are bound: %w", have, n, ctx.Err())
		case <-stuck.C:
			return fmt.Errorf("%d of %d pods are bound, and none more within %v", have, n, stallTimeout)
		case <-b.changed:
			stuck.Reset(stallTimeout)
		}
	}
}

func (b *Binds) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mu.at)
}
