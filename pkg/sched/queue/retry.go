package queue

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Requeue returns a pod to the queue whose nodes were taken, or whose Binding failed. It
// backs off, counting from the last time that no node fitted it.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.endAttempt(pod); it != nil {
		it.requeueCount++
		it.notBefore = q.env.Now().Add(q.options.Backoff.Delay(it.requeueCount))
		q.backOff(it)
	}
}

// MarkUnschedulable returns a pod to the queue that fitted no node as of freedSeq
// (Env.FreedSeq). It stays unschedulable until a change may help it, unless one happened
// since then. A pod that has to wait whatever nodes have free (sched.Pod.Wait) is gated,
// and does not block the pods behind it.
func (q *Queue) MarkUnschedulable(pod *sched.Pod, freedSeq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.endAttempt(pod)
	if it == nil {
		return
	}
	it.requeueCount, it.unschedulableCount = 0, it.unschedulableCount+1
	it.notBefore = q.env.Now().Add(q.options.Backoff.Delay(it.unschedulableCount))
	if it.Pod.Waits().Refuses() {
		q.enterState(it, Gated)
	} else {
		if it.unschedulableSince.IsZero() {
			it.unschedulableSince = q.env.Now()
		}
		q.enterState(it, Unschedulable)
	}
	if it.Pod != pod || q.env.FreedSeq() > freedSeq || (pod.Across || pod.Wait != nil) && it.eventsSeen != q.mu.events {
		q.reactivate(it)
	}
}

// Reactivate retries the unschedulable and gated pods that a change may help, and those
// in back-off that an earlier change may help. Call it after the change has counted in
// Env.FreedSeq.
func (q *Queue) Reactivate(mayHelp func(*sched.Pod) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.mu.classes {
		c.failedRetries = 0
		waiting := slices.AppendSeq(slices.Collect(c.unschedulable.all()), c.gated.all())
		for _, it := range waiting {
			if mayHelp(it.Pod) && !(it.state == Gated && it.Pod.Waits().Refuses()) {
				q.reactivate(it)
			}
		}
	}
	q.changed.Broadcast()
}

// ReactivateAcross retries the pods whose fit depends on more than what nodes have free
// (sched.Pod.Across), after a change of anything else. One that is in flight is
// retried too, should it turn out to be unschedulable.
func (q *Queue) ReactivateAcross() {
	q.reactivateOnEvent(func(pod *sched.Pod) bool { return pod.Across })
}

// ReactivateTenant retries the pods of a tenant that need not wait any more
// (sched.Pod.Wait). One that is in flight is retried too, should it turn out to be gated.
func (q *Queue) ReactivateTenant(tenant string) {
	q.reactivateOnEvent(func(pod *sched.Pod) bool { return pod.Wait != nil && pod.Tenant == tenant })
}

// reactivateOnEvent is Reactivate for a change that Env.FreedSeq does not count.
func (q *Queue) reactivateOnEvent(mayHelp func(*sched.Pod) bool) {
	q.mu.Lock()
	q.mu.events++
	q.mu.Unlock()
	q.Reactivate(mayHelp)
}

// endAttempt ends a pod's attempt, which failed, and returns its item, nil if the pod is
// not in flight. Pods behind it may go on. It needs q.mu.
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

// reactivate lets Next return an unschedulable or gated item, because a change may help
// it: at once if it is the one that blocks others, else after its back-off, or before
// that if there is nothing else to do. It needs q.mu.
func (q *Queue) reactivate(it *item) {
	if q.options.Strict && it == it.class.unschedulable.first() {
		it.reactivated = true
		q.changed.Signal()
		return
	}
	q.leaveState(it)
	q.backOff(it)
	if it.state == Backoff {
		it.class.earlyRetry.insert(it)
		q.changed.Signal()
	}
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
