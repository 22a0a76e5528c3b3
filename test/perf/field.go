package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/test/hollowcluster"
)

const (
	namespace = "perf" // the namespace of the pods of the backlog
	// quiet is how long countEvents waits for the next event before it expects no more events.
	quiet = 10 * time.Second
)

// field is the cluster in which the rounds are measured.
type field struct {
	options
	plane  *hollowcluster.Plane
	api    kubernetes.Interface
	filled int // percentage to which the nodes are full on average
}

// newField starts a control plane and creates the simulated nodes.
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
	if err := f.plane.Install(ctx, repository(f.options)); err != nil {
		return err
	}
	began := time.Now()
	if err := f.plane.MakeNodesFrom(ctx, f.Nodes, shape(), f.node); err != nil {
		return err
	}
	say("%d nodes with their topologies: %.0f s", f.Nodes, time.Since(began).Seconds())
	return nil
}

// countEvents waits until there are as many events as pods in the backlog. It also stops waiting if
// no event was written for 10 seconds (the constant `quiet`). It returns the number of events and the
// time of the last one. It does not wait for a contender that writes no events.
func (f *field) countEvents(ctx context.Context, c contender) (n int, last time.Time, err error) {
	for last = time.Now(); !c.silent && n < f.Pods && time.Since(last) < quiet; time.Sleep(100 * time.Millisecond) {
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

// events returns the number of events in the namespace of the backlog.
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

// awaitIdle waits until a process is idle: in each of two successive seconds, it uses at most 3 % of
// a CPU.
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
