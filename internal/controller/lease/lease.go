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

// ErrLost means that this replica does not hold the lease any more, so another replica may lead.
var ErrLost = errors.New("the lease is lost")

// Options are the namespace and name of a lease, the identity with which this process holds the
// lease, and durations.
type Options struct {
	Namespace, Name string
	Identity        string        // identity of this process; no other process, past or present, may have the same identity
	Duration        time.Duration // how long the lease is valid after a renewal, in whole seconds
	ActionTimeout   time.Duration // the longest duration of a step that begins while the lease is held
}

// Lease takes part in the election of the leader for one replica.
//
// At any time, at most one replica acts as the leader, if the clocks of the replicas run equally
// fast. The clocks may show different times. A step is an action that only the leader may take,
// such as a Binding. The holder of the lease may begin a step until Duration has passed since it
// sent the last accepted renewal. Another replica takes the lease only after it has seen no renewal
// for Duration. This new holder then waits for Duration + ActionTimeout before its first step. By
// then the last step of the former holder has ended, because it began while the lease was valid,
// and took at most ActionTimeout. A former holder that was paused (SIGSTOP) calls Check before its
// next step, and Check then returns an error, because the lease has expired. The ActionTimeout of a
// step begins before the call of Check. So a holder that is paused between Check and the step for
// longer than ActionTimeout must not take the step. If the former holder has released the lease,
// the new holder does not wait. A holder releases the lease only when it has no step in progress.
type Lease struct {
	options Options
	record  *record
	elector *leaderelection.LeaderElector
	leading chan context.Context // receives, when this replica takes the lease, a context that ends when the lease is lost
}

// New returns a Lease. The replica takes part in the election once Run is called.
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

// Run waits until this replica is the leader, and then calls the function `lead` (its argument)
// once. It releases the lease when `lead` returns, or when ctx is done before `lead` is called. The
// context that is passed to `lead` ends when ctx is done, and when the lease is lost. If the lease
// is lost, Run returns an error that wraps ErrLost. Run may be called only once.
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

// The method `lead` waits until no step of a former leader can be in progress, and then calls its
// parameter `lead`. The context `leading` ends when the lease is lost.
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

// Wait returns how long this replica must wait between the moment when it takes the lease and its
// first step as the leader.
func (l *Lease) Wait() time.Duration {
	if l.record.wasReleased() {
		return 0
	}
	return l.options.Duration + l.options.ActionTimeout
}

// Check returns nil if this replica holds the lease, and otherwise an error that wraps ErrLost. It
// does not check whether the waiting time (see Wait) is over, because this replica takes its first
// step as the leader only after this time.
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

// Leads reports whether this replica holds the lease. The replica may still have to wait before its
// first step as the leader.
func (l *Lease) Leads() bool { return l.elector.IsLeader() }
