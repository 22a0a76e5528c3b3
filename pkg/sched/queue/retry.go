package queue

import (
	"github.com/numalet/numalet/pkg/sched"
)

// atOnce is the number of times that a gang, or a pod whose fit depends on other nodes too
// (sched.Pod.Across), is retried at once after other pods took its nodes. If other pods take its
// nodes each time, it enters the state WaitingOnPermit, in which Permit refuses the pods behind it.
// From this state, it is retried up to atOnce more times.
const atOnce = 2

// Requeue returns a pod to the queue because other pods took its nodes, or because these nodes refused
// it when it was to be placed. The parameter `why` is the reason of the refusal, or zero. The pod backs
// off: it is retried after a delay, which doubles each time that this happens again or its Binding
// fails. If an attempt finds no node, the count of these failures is set to 0, because the
// pod then has the back-off of unschedulable pods instead (MarkUnschedulable).
//
// Gangs, and pods whose fit depends on other nodes too (sched.Pod.Across), lose their nodes to
// other pods more often, because their search takes longer and depends on more nodes. So a gang or
// such a pod does not back off immediately. First it is retried at once, up to atOnce times. Then
// it is retried, up to the same number of times, from the state WaitingOnPermit. During these
// retries, Permit refuses the pods behind it. If these retries fail too, the pod backs off. An
// alternative was rejected: the committer, which assigns nodes to one pod after another, would
// itself search for a node for such a pod. During this search, pods of all types would have to wait
// for the committer.
func (q *Queue) Requeue(pod *sched.Pod, why sched.Reason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued := q.endAttempt(pod)
	if queued == nil {
		return
	}
	queued.refused = why
	switch {
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

// manyLosses is the value of item.requeueCount from which Explain says that the attempts to schedule
// a pod fail again and again after nodes were found for it. With the default of Options.Backoff, the
// pod has then been retried for 10 s, and is retried every 10 s from then on.
const manyLosses = 11

// backOffAfterLoss makes an item back off because other pods took its nodes, or because its Binding
// failed. The caller must hold q.mu.
func (q *Queue) backOffAfterLoss(queued *item) {
	queued.requeueCount++
	queued.notBefore = q.env.Now().Add(q.options.Backoff.Delay(queued.requeueCount))
	q.backOff(queued)
}

// MarkUnschedulable returns a pod to the queue because it fits no node. freedSeq is the value of
// Env.FreedSeq when the nodes were read. The pod stays unschedulable until a change in the cluster
// may help it. If such a change has happened since the nodes were read, the pod is retried. A pod
// that has to wait for something other than nodes, such as a quota (sched.Pod.Wait), becomes gated
// instead, and does not block the pods behind it.
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

// endAttempt records that an attempt to schedule a pod has failed. It returns the pod's item, or
// nil if the pod is not in flight. The pod no longer blocks the pods behind it. The caller must
// hold q.mu, and must set the new state of the item afterwards.
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

// backOff puts an item in the state Backoff until the time item.notBefore, and then makes it
// active. If that time has passed, it makes the item active at once. The caller must hold q.mu.
func (q *Queue) backOff(queued *item) {
	if queued.notBefore.After(q.env.Now()) {
		q.enterState(queued, Backoff)
		q.activateLater(queued)
		return
	}
	q.enterState(queued, Active)
}

// activateLater makes an item active at the time item.notBefore, unless the item has left its
// present state by then. The caller must hold q.mu.
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
