package node

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

// backgroundWait is how long background work waits for systemd at most while it holds n.mu, in total and
// not for each call. After it has waited so long, it does not wait again until backgroundPause has
// passed. All hooks wait meanwhile. If a hook takes longer than the container runtime's timeout (2 s by
// default), the runtime drops the connection of the agent, and then no container can be created.
const (
	backgroundWait  = time.Second
	backgroundPause = 5 * time.Second
)

// notPersisted is an error that was caused by an error of Cgroups.Persist. It means that systemd
// does not know the new CPUs of all containers yet, for example because it did not apply all
// changes in time. The agent sends them again in the background (cgroup.Cgroups.Retry).
type notPersisted struct{ error }

func (e notPersisted) Unwrap() error { return e.error }

// patience is how long background work may still wait for systemd.
type patience struct {
	left   time.Duration
	waited time.Time // when background work waited last
}

// lockInBackground locks n.mu for work that no deadline of a hook limits. Until the caller calls
// `unlock`, the method `persist` waits no longer than n.mu.patience says. The work must go on without
// the answer of systemd.
func (n *Node) lockInBackground() (unlock func()) {
	n.mu.Lock()
	n.mu.background = true
	if time.Since(n.mu.patience.waited) >= backgroundPause {
		n.mu.patience.left = backgroundWait
	}
	return func() {
		n.mu.background = false
		n.mu.Unlock()
	}
}

// persist sends systemd what Confine and LiftQuota have written, and waits until systemd has applied
// it. A hook waits until the deadline of ctx. For background work, see lockInBackground. If persist
// fails, it returns an error of the type notPersisted. Callers hold n.mu.
func (n *Node) persist(ctx context.Context) error {
	if n.mu.background {
		limited, cancel := context.WithTimeout(ctx, n.mu.patience.left)
		defer cancel()
		defer n.mu.patience.spend(time.Now())
		ctx = limited
	}
	if err := n.env.Cgroups.Persist(ctx); err != nil {
		return notPersisted{err}
	}
	return nil
}

// spend reduces p.left by the time since `start`.
func (p *patience) spend(start time.Time) {
	if p.left > 0 {
		p.waited = time.Now()
		p.left -= p.waited.Sub(start)
	}
}

// tryPersist does what persist does, for callers that need not know whether systemd has applied the
// changes.
func (n *Node) tryPersist(ctx context.Context) {
	if err := n.persist(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("systemd does not have the CPUs of all containers yet; retrying", "err", err.Error())
	}
}
