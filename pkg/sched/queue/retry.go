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
	queued := q.endAttempt(pod)
	switch {
	case queued == nil:
	case !queued.Pod.Across && queued.Pod.Gang == nil || queued.requeueCount >= 2*atOnce:
		q.backOffAfterLoss(queued)
	case queued.requeueCount < atOnce:
		queued.requeueCount++
		q.enterState(queued, Active)
	default:
		queued.requeueCount++
		q.waitOnPermit(queued)
	}
}

// backOffAfterLoss makes an item back off because it lost its node. It needs q.mu.
func (q *Queue) backOffAfterLoss(queued *item) {
	queued.requeueCount++
	queued.notBefore = q.env.Now().Add(q.options.Backoff.Delay(queued.requeueCount))
	q.backOff(queued)
}

// MarkUnschedulable returns a pod to the queue that fitted no node as of freedSeq (Env.FreedSeq).
// The pod stays unschedulable until a change may help it. If such a change happened since freedSeq,
// the pod is retried. A pod that has to wait whatever nodes have free (sched.Pod.Wait) is gated,
// and does not block the pods behind it.
func (q *Queue) MarkUnschedulable(pod *sched.Pod, freedSeq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued := q.endAttempt(pod)
	if queued == nil {
		return
	}
	queued.requeueCount, queued.unschedulableCount = 0, queued.unschedulableCount+1
	queued.failed = q.env.Now()
	queued.notBefore = queued.failed.Add(q.options.Unschedulable.Delay(queued.unschedulableCount))
	if queued.Pod.Waits().Refuses() {
		q.enterState(queued, Gated) // and what ends this comes later
		return
	}
	if queued.unschedulableSince.IsZero() {
		queued.unschedulableSince = queued.failed
	}
	queued.hopeless = q.env.Hopeless(pod)
	q.enterState(queued, Unschedulable)
	if queued.Pod != pod || queued.missed || q.env.FreedSeq() > freedSeq && !queued.Pod.LacksNeighbor() || pod.Wait != nil && queued.eventsSeen != q.mu.events {
		q.reactivate(queued, !pod.Across)
	}
}

// endAttempt ends a pod's failed attempt, and returns its item, or nil if the pod is not in flight.
// Pods behind it may continue. It needs q.mu.
func (q *Queue) endAttempt(pod *sched.Pod) *item {
	queued, ok := q.mu.items[pod.UID]
	if !ok || queued.state != InFlight {
		return nil
	}
	q.leaveState(queued)
	queued.class.failedRetries++
	q.changed.Broadcast()
	return queued
}

// backOff makes an item active when its back-off is over. It needs q.mu.
func (q *Queue) backOff(queued *item) {
	if queued.notBefore.After(q.env.Now()) {
		q.enterState(queued, Backoff)
		q.activateLater(queued)
		return
	}
	q.enterState(queued, Active)
}

// activateLater makes an item active at notBefore, unless it has left its state by then.
// It needs q.mu.
func (q *Queue) activateLater(queued *item) {
	state, due := queued.state, queued.notBefore
	q.env.After(due.Sub(q.env.Now()), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if queued.state == state && queued.notBefore.Equal(due) {
			q.leaveState(queued)
			q.enterState(queued, Active)
			q.changed.Broadcast()
		}
	})
}
