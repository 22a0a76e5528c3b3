package queue

import (
	"github.com/numalet/numalet/pkg/sched"
)

// atOnce is how often a gang, or a pod with sched.Pod.Across, is retried at once after other pods
// took its nodes. After that, it is retried equally often from the state WaitingOnPermit, in which
// it blocks the pods behind it.
const atOnce = 2

// Requeue returns a pod to the queue because other pods took its nodes. The pod backs off. Its
// delay doubles each time that this happens again. It starts from the beginning after an attempt
// for which no node fitted.
//
// Other pods take the nodes of a gang, or of a pod with sched.Pod.Across, more often, because its
// search takes longer and depends on more nodes. It is first retried at once (atOnce times). Then
// it is retried equally often while it blocks the pods behind it: until it is placed or returned,
// Permit refuses these pods. Only then does it back off. A search in the committer, which assigns
// one pod after another, was rejected, because pods of all types wait for the committer.
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

// backOffAfterLoss makes an item back off because other pods took its nodes, or because its Binding
// failed. It needs q.mu.
func (q *Queue) backOffAfterLoss(queued *item) {
	queued.requeueCount++
	queued.notBefore = q.env.Now().Add(q.options.Backoff.Delay(queued.requeueCount))
	q.backOff(queued)
}

// MarkUnschedulable returns a pod to the queue that fitted no node. freedSeq is the value of
// Env.FreedSeq when the nodes were read. The pod stays unschedulable until a change may help it. If
// such a change has happened since the nodes were read, the pod is retried. A pod that has to wait
// for something other than nodes (sched.Pod.Wait) becomes gated, and does not block the pods behind
// it.
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
		q.enterState(queued, Gated) // ReactivateTenant retries the pod when it no longer has to wait
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

// endAttempt ends a pod's failed attempt. It returns the pod's item, or nil if the pod is not in
// flight. The pod no longer blocks the pods behind it. endAttempt needs q.mu.
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

// backOff puts an item in the state Backoff, and makes it active when its back-off ends. It makes
// the item active at once if its back-off has already ended. It needs q.mu.
func (q *Queue) backOff(queued *item) {
	if queued.notBefore.After(q.env.Now()) {
		q.enterState(queued, Backoff)
		q.activateLater(queued)
		return
	}
	q.enterState(queued, Active)
}

// activateLater makes an item active at the time item.notBefore, unless the item has left its
// present state by then. It needs q.mu.
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
