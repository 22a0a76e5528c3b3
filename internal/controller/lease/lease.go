package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLost means that the lease could not be renewed, so another replica may lead.
var ErrLost = errors.New("the lease is lost")

// Options are the lease's name, its holder and its durations.
type Options struct {
	Namespace, Name string
	Identity        string        // unique among all processes, including past ones
	Duration        time.Duration // of the lease, in whole seconds
	ActionTimeout   time.Duration // the longest duration of a step that was begun under the lease
}

// Lease is one replica's participation in the election.
//
// The election is safe if the replicas' clocks run equally fast. The clocks need not show the same
// time. The holder may begin a step until Duration after it sent the last accepted renewal. Another
// replica may take the lease after it saw no renewal for Duration, and then waits for Duration +
// ActionTimeout. By then the last step of the former holder has ended, even if that process was
// paused (SIGSTOP). If the lease was released, the new holder does not wait, because the former
// holder had no step in progress. A lost lease is never released, because steps of its holder may
// still be in progress.
type Lease struct {
	options Options
	record  *record
	elector *leaderelection.LeaderElector
	leading chan context.Context // receives the context that ends with the leadership
}

// New returns a Lease that does not take part in the election before Run.
func New(client kubernetes.Interface, o Options) (*Lease, error) {
	l := &Lease{options: o, leading: make(chan context.Context, 1)}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.Namespace, o.Name,
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: o.Identity})
	if err != nil {
		return nil, fmt.Errorf("create the lock of lease %s/%s: %w", o.Namespace, o.Name, err)
	}
	l.record = &record{Interface: lock, duration: o.Duration}
	l.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: o.Name, Lock: l.record, ReleaseOnCancel: true,
		LeaseDuration: o.Duration, RenewDeadline: o.Duration * 2 / 3, RetryPeriod: o.Duration * 2 / 15,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { l.leading <- ctx },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("set up the election with lease %s/%s: %w", o.Namespace, o.Name, err)
	}
	return l, nil
}

// Run waits until this replica is the leader and calls lead once. It releases the lease when lead
// returns, or when ctx ends before that. The context of lead ends with ctx, and when the lease is
// lost; then Run returns ErrLost. It may be called once.
func (l *Lease) Run(ctx context.Context, lead func(context.Context) error) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() { l.elector.Run(electing); close(over) }()
	defer func() { stop(); <-over }()
	select {
	case <-ctx.Done():
		return nil
	case leading := <-l.leading:
		return l.lead(ctx, leading, lead)
	}
}

// lead waits until no former leader can act, and calls lead.
func (l *Lease) lead(ctx, leading context.Context, lead func(context.Context) error) error {
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(leading, cancel)()
	var err error
	select {
	case <-both.Done():
	case <-time.After(l.Wait()):
		l.record.setBusy(true)
		err = lead(both)
		l.record.setBusy(false)
	}
	if leading.Err() != nil {
		return errors.Join(ErrLost, err)
	}
	return err
}

// Wait returns how long this replica, once it holds the lease, waits before it acts.
func (l *Lease) Wait() time.Duration {
	if l.record.wasReleased() {
		return 0
	}
	return l.options.Duration + l.options.ActionTimeout
}

// Check returns nil while this replica may begin a step that only the leader may take.
func (l *Lease) Check() error {
	until, ok := l.record.until()
	switch {
	case !ok:
		return fmt.Errorf("lease %s/%s is not held: %w", l.options.Namespace, l.options.Name, ErrLost)
	case !time.Now().Before(until):
		return fmt.Errorf("lease %s/%s expired %v ago: %w", l.options.Namespace, l.options.Name, time.Since(until), ErrLost)
	}
	return nil
}

// Leads reports whether this replica holds the lease, even if it still waits.
func (l *Lease) Leads() bool { return l.elector.IsLeader() }
