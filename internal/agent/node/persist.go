package node

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

// backgroundWait is how long background work waits for systemd at most while it holds n.mu, in total and
// not for each call. All hooks wait meanwhile. If a hook takes longer than the container runtime's
// timeout (2 s by default), the runtime drops the connection of the agent, and then no container can be
// created. After it has waited, background work gets a part of the time back that has passed since:
// one backgroundShare-th. It does not wait again until it has half of backgroundWait.
const (
	backgroundWait  = time.Second
	backgroundShare = 5
)

// notPersisted is an error that was caused by an error of Cgroups.Persist. It means that systemd
// does not know the new CPUs of all containers yet, for example because it did not apply all
// changes in time. The agent sends them again in the background (cgroup.Cgroups.Retry).
type notPersisted struct{ error }

func (e notPersisted) Unwrap() error { return e.error }

// lockInBackground locks n.mu for work that no deadline of a hook limits. Until the caller calls
// `unlock`, the method `persist` waits for no longer than backgroundWait allows. The work must go on
// without the answer of systemd.
func (n *Node) lockInBackground() (unlock func()) {
	n.mu.Lock()
	now := time.Now()
	n.mu.patience = min(backgroundWait, n.mu.patience+now.Sub(n.mu.patient)/backgroundShare)
	n.mu.background, n.mu.patient = true, now
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
		wait := n.mu.patience
		if wait < backgroundWait/2 {
			wait = 0
		}
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		start := time.Now()
		defer func() { n.mu.patience -= time.Since(start) }()
		ctx = limited
	}
	if err := n.env.Cgroups.Persist(ctx); err != nil {
		return notPersisted{err}
	}
	return nil
}

// tryPersist does what persist does, for callers that need not know whether systemd has applied the
// changes.
func (n *Node) tryPersist(ctx context.Context) {
	if err := n.persist(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("systemd does not have the CPUs of all containers yet; retrying", "err", err.Error())
	}
}
