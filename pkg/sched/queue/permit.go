package queue

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Permit reports whether a pod that is out may be bound now: nothing is ahead of it,
// of its type, that is being bound or blocked. Otherwise it waits for those; Next
// returns it again when it is the first, and may be bound then. Where that takes too
// long (Options.Wait) it goes back to those that are ready. A pod that is blocked
// waits for ever.
func (q *Queue) Permit(pod *sched.Pod) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[pod.UID]
	if !ok || it.state != Out {
		return false
	}
	if it.permitted {
		return true
	}
	if it.kind.blocker(it) == nil {
		it.permitted = true
		q.enter(it, Out)
		return true
	}
	q.enter(it, Waiting)
	it.notBefore = q.env.Now().Add(q.options.Wait)
	q.readyAt(it)
	return false
}

// Placed says that a pod that is out has its node, so that those behind it may go on
// while it is written down.
func (q *Queue) Placed(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[pod.UID]
	if !ok || it.state != Out {
		return
	}
	q.leave(it)
	it.permitted, it.yields, it.blocked = false, false, time.Time{}
	q.changed.Broadcast()
}

// Yield lets others pass a pod as long as it is blocked and the first: a node holds
// back for it what it needs, or it will never fit, so that it need not be waited for.
func (q *Queue) Yield(uid string) { q.yield(uid, true) }

// Insist undoes Yield.
func (q *Queue) Insist(uid string) { q.yield(uid, false) }

func (q *Queue) yield(uid string, yields bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[uid]
	if !ok || it.yields == yields {
		return
	}
	it.yields = yields
	if it.state == Out {
		q.leave(it)
		q.enter(it, Out)
	}
	q.changed.Broadcast()
}

// Head is the first of a type's blocked pods.
type Head struct {
	Type  fairshare.Type
	Pod   *sched.Pod
	Since time.Time // when no node suited it first
}

// Heads returns the first blocked pod of each type that has one, by no order.
func (q *Queue) Heads() []Head {
	q.mu.Lock()
	defer q.mu.Unlock()
	var heads []Head
	for _, k := range q.mu.kinds {
		if it := k.blocked.first(); it != nil {
			heads = append(heads, Head{k.name, it.Pod, it.blocked})
		}
	}
	return heads
}
