package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	corev1 "k8s.io/api/core/v1"
)

// Binds counts the pods of one namespace that become bound, as the API server
// tells it. It asks for bound pods and their metadata only, so that the counting
// costs little beside what is counted.
type Binds struct {
	stream watch.Interface
	done   chan struct{}
	mu     struct {
		sync.Mutex
		at    map[string]time.Time // when the pod of that name was seen bound
		twice []string             // pods that were bound, unbound and bound
		err   error
	}
	changed chan struct{}
}

// CountBinds starts counting; Stop ends it.
func (p *Plane) CountBinds(ctx context.Context, namespace string) (*Binds, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	stream, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace).
		Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	if err != nil {
		return nil, fmt.Errorf("watch bound pods of %s: %w", namespace, err)
	}
	b := &Binds{stream: stream, done: make(chan struct{}), changed: make(chan struct{}, 1)}
	b.mu.at = map[string]time.Time{}
	go b.follow()
	return b, nil
}

func (b *Binds) follow() {
	defer close(b.done)
	for event := range b.stream.ResultChan() {
		now := time.Now()
		b.mu.Lock()
		switch object, ok := event.Object.(metav1.Object); {
		case event.Type == watch.Error:
			b.mu.err = fmt.Errorf("watch bound pods: %v", event.Object)
		case ok && event.Type == watch.Added:
			if _, before := b.mu.at[object.GetName()]; before {
				b.mu.twice = append(b.mu.twice, object.GetName())
			}
			b.mu.at[object.GetName()] = now
		}
		b.mu.Unlock()
		select {
		case b.changed <- struct{}{}:
		default:
		}
	}
}

// Stop ends the counting.
func (b *Binds) Stop() {
	b.stream.Stop()
	<-b.done
}

// At returns when each pod was seen bound, by name.
func (b *Binds) At() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := make(map[string]time.Time, len(b.mu.at))
	for name, t := range b.mu.at {
		at[name] = t
	}
	return at
}

// Await waits until n pods are bound. Where nothing more becomes bound for that
// long, its error says how far it came.
func (b *Binds) Await(ctx context.Context, n int, patience time.Duration) error {
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	for {
		have, err := b.count()
		if err != nil || have >= n {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods are bound: %w", have, n, ctx.Err())
		case <-stuck.C:
			return fmt.Errorf("%d of %d pods are bound, and none more within %v", have, n, patience)
		case <-b.done:
			return errors.New("the watch of bound pods has ended")
		case <-b.changed:
			stuck.Reset(patience)
		}
	}
}

func (b *Binds) count() (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mu.at), b.mu.err
}
