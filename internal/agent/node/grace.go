package node

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/go-logr/logr"
)

// grace is the minimum time that CPUs stay idle after a container gave them back in a resize. After
// that time, they become shared. The kernel moves the container's threads off these CPUs already at
// the start of this time, because the cpuset of the container shrinks. A program that reads its CPU
// affinity from time to time can adapt within this time. If a user reverts the resize within this
// time, the container gets the same CPUs again.
const grace = 10 * time.Second

// leaving returns the grants that have CPUs in Claim.Leaving: CPUs that a container gave back in a
// resize, and that are not shared yet.
func (n *Node) leaving() []Held {
	var all []Held
	for _, h := range n.mu.book.sorted() {
		for _, c := range h.Grant.Claims {
			if !c.Leaving.Empty() {
				all = append(all, h)
				break
			}
		}
	}
	return all
}

// finishResizes handles the CPUs that containers gave back in a resize. It makes them shared,
// unless they must stay idle for longer (see the constant `grace`). It does nothing until the
// container runtime has listed its containers: before that, the agent does not know which containers
// to move off these CPUs. Callers hold n.mu.
func (n *Node) finishResizes(ctx context.Context) {
	if !n.mu.synced {
		return
	}
	now, returned := n.env.Now(), false
	for _, h := range n.leaving() {
		uid := h.Grant.UID
		until, known := n.mu.leave[uid]
		if !known {
			until = now.Add(grace)
			n.mu.leave[uid] = until
		}
		if now.Before(until) || !n.isOff(ctx, h) {
			continue
		}
		h.Grant = n.mu.book.ledger.Return(uid)
		n.mu.book.enter(h)
		delete(n.mu.leave, uid)
		returned = true
	}
	if returned {
		n.finishRelease(ctx)
	}
}

// isOff makes sure that a pod's exclusive containers no longer run on CPUs that they gave back. It
// writes the cpusets of these containers again, because another program may have changed them. It
// reports whether it could write all of them, and systemd has applied the changes.
func (n *Node) isOff(ctx context.Context, h Held) bool {
	err := n.pinForGood(ctx, h.Pod.UID, "")
	log := logr.FromContextOrDiscard(ctx).WithValues("pod", h.Pod.String())
	switch {
	case err == nil:
		return true
	case errors.As(err, new(notPersisted)):
		log.V(2).Info("CPUs that a container gave back are not shared until systemd answers", "err", err.Error())
	default:
		log.Error(err, "CPUs that a container gave back are not shared yet; retrying")
	}
	return false
}

// assertResized writes the CPUs of those shared containers again whose resize the container runtime
// has not confirmed. If runc cannot apply a resize, it writes the CPUs again that the container had at
// its last resize, and some of them may be exclusive to another container by now. The runtime then
// reports nothing to the agent. Callers hold n.mu.
func (n *Node) assertResized(ctx context.Context) {
	for _, p := range n.mu.pods {
		for id, c := range p.containers {
			if _, resized := n.mu.resized[id]; !resized {
				continue
			}
			if err := n.assert(ctx, c, n.decide(c)); err != nil {
				logr.FromContextOrDiscard(ctx).Error(err, "a shared container may run on exclusive CPUs after a resize that failed; retrying", "container", c.String())
			}
		}
	}
	now := n.env.Now()
	maps.DeleteFunc(n.mu.resized, func(_ string, until time.Time) bool { return !now.Before(until) })
}

// resizing reports whether the resize of any container is incomplete. A resize is incomplete if the
// container runtime has not confirmed it, or if the CPUs that the container gave back are not
// shared yet.
func (n *Node) resizing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.mu.confirm) > 0 || len(n.mu.resized) > 0 || len(n.leaving()) > 0
}

// forgetResizes deletes the records of incomplete resizes (n.mu.leave, n.mu.confirm and n.mu.resized)
// for grants and containers that no longer exist. Callers hold n.mu.
func (n *Node) forgetResizes() {
	maps.DeleteFunc(n.mu.leave, func(uid string, _ time.Time) bool { _, held := n.mu.book.held[uid]; return !held })
	known := map[string]bool{}
	for _, p := range n.mu.pods {
		for id := range p.containers {
			known[id] = true
		}
	}
	gone := func(id string, _ time.Time) bool { return !known[id] }
	maps.DeleteFunc(n.mu.confirm, gone)
	maps.DeleteFunc(n.mu.resized, gone)
}
