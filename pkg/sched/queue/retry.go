package queue

import (
	"github.com/numalet/numalet/pkg/sched"
)

// atOnce is how often a gang, or a pod with sched.Pod.Across, is retried at once after it has lost
// its nodes. After that it is retried equally often with its turn held.
const atOnce = 2

// Requeue returns a pod to the queue because other pods took its nodes. The pod backs off. Its
// delay grows with the losses since the last time that no node fitted it.
//
// A gang, or a pod with sched.Pod.Across, loses its nodes more often, because its search takes
// longer and depends on more nodes. It is first retried at once, and then with its turn held: while
// a proposer searches nodes for it, the pods of its type behind it wait on permit. Only then does
// it back off. A search in the committer was rejected, because pods of all types wait for the
// committer.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.endAttempt(pod)
	switch {
	case it == nil:
	case !it.Pod.Across && it.Pod.Gang == nil || it.requeueCount >= 2*atOnce:
		q.backOffAfterLoss(it)
	case it.requeueCount < atOnce:
		it.requeueCount++
		q.enterState(it, Active)
	default:
		it.requeueCount++
		q.waitOnPermit(it)
	}
}

// backOffAfterLoss makes an item back off because it lost its node. It needs q.mu.
func (q *Queue) backOffAfterLoss(it *item) {
	it.requeueCount++
	it.notBefore = q.env.Now().Add(q.options.Backoff.Delay(it.requeueCount))
	q.backOff(it)
}

// MarkUnschedulable returns a pod to the queue that fitted no node as of freedSeq (Env.FreedSeq).
// The pod stays unschedulable until a change may help it. If such a change happened since freedSeq,
// the pod is retried. A pod that has to wait whatever nodes have free (sched.Pod.Wait) is gated,
// and does not block the pods behind it.
func (q *Queue) MarkUnschedulable(pod *sched.Pod, freedSeq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.endAttempt(pod)
	if it == nil {
		return
	}
	it.requeueCount, it.unschedulableCount = 0, it.unschedulableCount+1
	it.failed = q.env.Now()
	it.notBefore = it.failed.Add(q.options.Unschedulable.Delay(it.unschedulableCount))
	if it.Pod.Waits().Refuses() {
		q.enterState(it, Gated) // and what ends this comes later
		return
	}
	if it.unschedulableSince.IsZero() {
		it.unschedulableSince = it.failed
	}
	it.hopeless = q.env.Hopeless(pod)
	q.enterState(it, Unschedulable)
	if it.Pod != pod || it.missed || q.env.FreedSeq() > freedSeq && !it.Pod.LacksNeighbor() || pod.Wait != nil && it.eventsSeen != q.mu.events {
		q.reactivate(it, !pod.Across)
	}
}

// endAttempt ends a pod's failed attempt, and returns its item, or nil if the pod is not in flight.
// Pods behind it may continue. It needs q.mu.
func (q *Queue) endAttempt(pod *sched.Pod) *item {
	it, ok := q.mu.items[pod.UID]
	if !ok || it.state != InFlight {
		return nil
	}
	q.leaveState(it)
	it.class.failedRetries++
	q.changed.Broadcast()
	return it
}

// backOff makes an item active when its back-off is over. It needs q.mu.
func (q *Queue) backOff(it *item) {
	if it.notBefore.After(q.env.Now()) {
		q.enterState(it, Backoff)
		q.activateLater(it)
		return
	}
	q.enterState(it, Active)
}

// activateLater makes an item active at notBefore, unless it has left its state by then.
// It needs q.mu.
func (q *Queue) activateLater(it *item) {
	state, due := it.state, it.notBefore
	q.env.After(due.Sub(q.env.Now()), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if it.state == state && it.notBefore.Equal(due) {
			q.leaveState(it)
			q.enterState(it, Active)
			q.changed.Broadcast()
		}
	})
}
