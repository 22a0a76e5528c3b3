package node

import (
	"context"
	"time"
)

// backgroundWait is how long background work waits for systemd in total while it holds n.mu. All hooks
// wait meanwhile. If a hook takes longer than the container runtime's timeout (2 s by default), the
// runtime drops the connection of the agent, and then no container can be created.
const backgroundWait = time.Second

// notPersisted is an error that was caused by an error of Cgroups.Persist. It means that systemd
// does not know the new CPUs of all containers yet, for example because it did not apply all
// changes in time. The agent sends them again in the background (cgroup.Cgroups.Retry).
type notPersisted struct{ error }

func (e notPersisted) Unwrap() error { return e.error }

// lockInBackground locks n.mu for work that no deadline of a hook limits. Until the caller calls
// `unlock`, all calls of persist together wait for systemd for at most backgroundWait. The cgroups are
// written anyway: only Persist gets this deadline.
func (n *Node) lockInBackground() (unlock func()) {
	n.mu.Lock()
	n.mu.persistUntil = time.Now().Add(backgroundWait)
	return func() {
		n.mu.persistUntil = time.Time{}
		n.mu.Unlock()
	}
}

// persist sends systemd what Confine and LiftQuota have written, and waits until systemd has applied
// it. In a hook, it waits until the deadline of ctx. In background work, see lockInBackground. If
// persist fails, it returns an error of the type notPersisted. Callers hold n.mu.
func (n *Node) persist(ctx context.Context) error {
	if until := n.mu.persistUntil; !until.IsZero() {
		limited, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		ctx = limited
	}
	if err := n.env.Cgroups.Persist(ctx); err != nil {
		return notPersisted{err}
	}
	return nil
}
