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

// ErrLost ends a leader that could not renew its lease: another one may lead.
var ErrLost = errors.New("the lease is lost")

// Options are whose lease it is and how long things take.
type Options struct {
	Namespace, Name string
	Identity        string        // unlike that of every other process, past ones too
	Duration        time.Duration // of the lease, in whole seconds
	Act             time.Duration // what was begun under a lease takes this long at most
}

// Lease is one replica's part in the election.
//
// Safety rests on two clocks that only have to run equally fast. The holder may
// begin something until Duration after it *sent* the last renewal that was
// accepted. Another one may take the lease when it saw no renewal for Duration,
// and then waits for Duration + Act, so that what the last holder began at its
// last moment is over, even if that one was paused (SIGSTOP) and knows nothing.
// A lease that was given up needs no wait: its holder had nothing left to do. One
// that was lost is not given up: the elector would do so at once, and what its
// holder began goes on for a while.
type Lease struct {
	options Options
	record  *record
	elector *leaderelection.LeaderElector
	leading chan context.Context // as leader; its end is the end of that
}

// New returns a part in the election that takes none yet.
func New(client kubernetes.Interface, o Options) (*Lease, error) {
	l := &Lease{options: o, leading: make(chan context.Context, 1)}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.Namespace, o.Name,
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: o.Identity})
	if err != nil {
		return nil, fmt.Errorf("make lease %s/%s: %w", o.Namespace, o.Name, err)
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
		return nil, fmt.Errorf("take part in the election of lease %s/%s: %w", o.Namespace, o.Name, err)
	}
	return l, nil
}

// Run waits until it is this one's turn and calls lead, once. When lead returns,
// or ctx ends before, it gives the lease up. lead's context ends with ctx, and
// when the lease is lost; then the error is ErrLost. It may be called once.
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

// Wait returns how long a new leader waits before it acts.
func (l *Lease) Wait() time.Duration {
	if l.record.givenUp() {
		return 0
	}
	return l.options.Duration + l.options.Act
}

// Check returns nil while this one may begin what only the leader may.
func (l *Lease) Check() error {
	until, ok := l.record.until()
	switch {
	case !ok:
		return fmt.Errorf("lease %s/%s is not held: %w", l.options.Namespace, l.options.Name, ErrLost)
	case !time.Now().Before(until):
		return fmt.Errorf("lease %s/%s ended %v ago: %w", l.options.Namespace, l.options.Name, time.Since(until), ErrLost)
	}
	return nil
}

// Leads reports whether this one holds the lease, waiting or acting.
func (l *Lease) Leads() bool { return l.elector.IsLeader() }
