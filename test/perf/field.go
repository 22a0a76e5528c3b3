package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/test/hollowcluster"
)

const (
	namespace = "perf"
	// stallTimeout is how long a round may make no progress.
	stallTimeout = time.Minute
)

// field is the cluster in which the rounds take place.
type field struct {
	options
	plane *hollowcluster.Plane
	api   kubernetes.Interface
}

// newField starts a control plane with nodes.
func newField(ctx context.Context, o options) (*field, error) {
	plane, err := hollowcluster.Up(ctx, o.Rig, fmt.Sprintf("perf-%d", os.Getpid()))
	if err != nil {
		return nil, err
	}
	f := &field{options: o, plane: plane}
	if err = f.furnish(ctx); err != nil {
		return nil, errors.Join(err, plane.Down())
	}
	return f, nil
}

func (f *field) furnish(ctx context.Context) (err error) {
	if f.api, err = f.plane.API(); err != nil {
		return err
	}
	repository := filepath.Dir(filepath.Dir(f.Rig)) // build/rig
	if err := f.plane.Install(ctx, repository); err != nil {
		return err
	}
	began := time.Now()
	if err := f.plane.MakeNodes(ctx, f.Nodes, hollowcluster.Shape{NUMA: 2, CPUs: 32, GPUs: 8, Zones: 3}); err != nil {
		return err
	}
	say("%d nodes with their topologies: %.0f s", f.Nodes, time.Since(began).Seconds())
	return nil
}

// round lets a contender bind one kind of pods.
func (f *field) round(ctx context.Context, c contender, l load) (r result, err error) {
	r.contender, r.load = c.name, l.name
	s, err := c.start(ctx, f)
	if err != nil {
		return r, err
	}
	defer func() { _ = s.process.Stop(10 * time.Second) }()
	// 1. The contender fills its caches.
	if err := awaitIdle(ctx, s.process); err != nil {
		return r, err
	}
	before, err := s.process.Usage()
	if err != nil {
		return r, err
	}
	profiled := f.profile(ctx, s, l)
	// 2. The backlog is created, and the contender observes it.
	binds, err := f.plane.CountBinds(ctx, namespace)
	if err != nil {
		return r, err
	}
	defer binds.Stop()
	if err := f.makeWaiting(ctx, c.scheduler, l.waiting); err != nil {
		return r, err
	}
	if err := f.make(ctx, l, c.scheduler, 0, f.Pods); err != nil {
		return r, err
	}
	if err := awaitIdle(ctx, s.process); err != nil {
		return r, err
	}
	// 3. The contender starts and binds all pods.
	began, err := s.fire(ctx)
	if err != nil {
		return r, err
	}
	if err := binds.Await(ctx, f.Pods, stallTimeout); err != nil {
		return r, fmt.Errorf("%w: see %s", err, s.process.Log)
	}
	// 4. The contender becomes idle: events are written after the bindings. While pods wait,
	// it retries them and may never be idle.
	if r.events, r.lastEvent, err = f.countEvents(ctx, c); err != nil {
		return r, err
	}
	if l.waiting == 0 {
		err = awaitIdle(ctx, s.process)
	}
	if err != nil {
		return r, err
	}
	after, err := s.process.Usage()
	if err != nil {
		return r, err
	}
	r.fill(began, binds.At(), before, after)
	// 5. More pods are created one by one.
	if c.scheduler != "" {
		if r.steady, err = f.steady(ctx, c, l, binds); err != nil {
			return r, err
		}
	}
	say("%s", r)
	return r, errors.Join(profiled(), f.clear(ctx, s))
}

// profile begins a profile if one is wanted, and returns a function that waits for its end.
func (f *field) profile(ctx context.Context, s started, l load) func() error {
	if f.Profile == "" || s.profile == nil {
		return func() error { return nil }
	}
	over := make(chan error, 1)
	go func() { over <- s.profile(ctx, filepath.Join(f.Profile, l.name)) }()
	return func() error { return <-over }
}

// clear restores the cluster. It is called after the contender has ended, so that nobody
// watches the deletions.
func (f *field) clear(ctx context.Context, s started) error {
	if err := s.process.Stop(10 * time.Second); err != nil {
		return err
	}
	if f.Waiting > 0 {
		if err := f.plane.Clear(ctx, waitingNamespace); err != nil {
			return err
		}
	}
	return f.plane.Clear(ctx, namespace)
}

// countEvents waits until there are as many events as bound pods, or no more are written. It
// returns their number and the time of the last one.
func (f *field) countEvents(ctx context.Context, c contender) (n int, last time.Time, err error) {
	for last = time.Now(); !c.silent && n < f.Pods && time.Since(last) < stallTimeout/6; time.Sleep(100 * time.Millisecond) {
		now, err := f.events(ctx)
		if err != nil {
			return n, last, err
		}
		if now > n {
			n, last = now, time.Now()
		}
	}
	return n, last, nil
}

// events returns the number of events.
func (f *field) events(ctx context.Context) (int, error) {
	list, err := f.api.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	n := len(list.Items)
	if list.RemainingItemCount != nil {
		n += int(*list.RemainingItemCount)
	}
	return n, nil
}

// awaitIdle waits until a process is idle: it uses less than 3 % of a CPU for a second,
// twice in a row.
func awaitIdle(ctx context.Context, p *hollowcluster.Process) error {
	last, err := p.Usage()
	for calm := 0; err == nil; calm++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Over():
			return fmt.Errorf("the process ended: see %s", p.Log)
		case <-time.After(time.Second):
		}
		var now hollowcluster.Usage
		now, err = p.Usage()
		if now.CPU-last.CPU > 30*time.Millisecond {
			calm = -1
		}
		if calm == 1 {
			return err
		}
		last = now
	}
	return err
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
