package node

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/go-logr/logr"
)

// grace is how long CPUs that a container gave back stay idle before they become shared. The kernel
// has already moved the container's threads off these CPUs when this time begins, because its
// cpuset has shrunk. A program that reads its CPU affinity from time to time can adapt within this
// time. If the resize is reverted within this time, the container gets the same CPUs again.
const grace = 10 * time.Second

// leaving returns the grants with CPUs that containers gave back and that are not shared yet.
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

// finishResizes returns CPUs to the shared set if a container gave them back at least grace ago.
// Callers hold the lock.
func (n *Node) finishResizes(ctx context.Context) {
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

// isOff writes the cpusets of a pod's exclusive containers again, and reports whether that
// succeeded. Then the containers run only on their own CPUs, even if something else changed their
// cpusets.
func (n *Node) isOff(ctx context.Context, h Held) bool {
	p := n.mu.pods[h.Pod.UID]
	if p == nil {
		return true
	}
	var errs []error
	for _, c := range p.containers {
		if d := n.decide(c); d.Exclusive {
			errs = append(errs, n.assert(ctx, c, d))
		}
	}
	err := errors.Join(errs...)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "CPUs that a container gave back are not shared yet; retrying", "pod", h.Pod.String())
	}
	return err == nil
}

// resizing reports whether the runtime still has to confirm a resize, or CPUs that a container gave
// back are not shared yet.
func (n *Node) resizing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.mu.confirm) > 0 || len(n.leaving()) > 0
}

// forgetResizes deletes the entries of n.mu.leave and n.mu.confirm for grants and containers that
// no longer exist. Callers hold the lock.
func (n *Node) forgetResizes() {
	maps.DeleteFunc(n.mu.leave, func(uid string, _ time.Time) bool { _, held := n.mu.book.held[uid]; return !held })
	known := map[string]bool{}
	for _, p := range n.mu.pods {
		for id := range p.containers {
			known[id] = true
		}
	}
	maps.DeleteFunc(n.mu.confirm, func(id string, _ time.Time) bool { return !known[id] })
}
