package queue

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Freed retries the unschedulable pods that may fit a node, after resources became free there or
// the node changed. node is the newest record of the node. Call Freed after Env.FreedSeq has
// counted the change.
func (q *Queue) Freed(node *sched.Node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	helped := q.of(q.mu.bySize.Helped(node))
	for _, queued := range helped {
		q.reactivate(queued, !queued.Pod.Across)
	}
	q.changedFor(len(helped))
}

// Notify retries the unschedulable and gated pods that have one of the given topics
// (sched.Pod.Topics) and for which helps returns true. If helps is nil, it retries all pods with
// such a topic. A pod that is in flight is retried, too, if its present attempt finds no node.
func (q *Queue) Notify(topics []sched.Topic, helps func(*sched.Pod) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	woken := 0
	for _, topic := range topics {
		for queued := range q.mu.byTopic[topic] {
			switch {
			case helps != nil && !helps(queued.Pod):
			case queued.state == InFlight:
				queued.missed = true
			case queued.byAgeEntry != nil:
				q.reactivate(queued, false)
				woken++
			}
		}
	}
	q.changedFor(woken)
}

// ReactivateTenant retries the pods of a tenant that no longer have to wait (sched.Pod.Wait). A pod
// that is in flight is retried, too, if no node fits it in its present attempt.
func (q *Queue) ReactivateTenant(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.events++
	if pods := q.mu.byTenant[tenant]; pods != nil {
		q.reactivateAll(q.of(pods.Released()))
	}
}

// RetryPod retries a pod if it is unschedulable. Call it when a node fits the pod.
func (q *Queue) RetryPod(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queued, ok := q.mu.items[uid]; ok && queued.state == Unschedulable {
		q.reactivate(queued, true)
		q.changedFor(1)
	}
}

// RetryOverdue retries pods that have been unschedulable or gated for at least the given time,
// those that have waited longest first. This helps if a change that would let a pod fit was not
// observed. It retries at most the given number of pods, so that pods that failed together are not
// all retried together.
func (q *Queue) RetryOverdue(age time.Duration, most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.env.Now().Add(-age)
	var overdue []*item
	for e := q.mu.byAge.Front(); e != nil && len(overdue) < most; e = e.Next() {
		queued := e.Value.(*item)
		if queued.failed.After(before) {
			break
		}
		overdue = append(overdue, queued)
	}
	q.reactivateAll(overdue)
}

// Waiting returns the number of pods that are unschedulable or gated.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.byAge.Len()
}

// The methods below need q.mu.

func (q *Queue) reactivateAll(items []*item) {
	for _, queued := range items {
		q.reactivate(queued, false)
	}
	q.changedFor(len(items))
}

// changedFor allows early retries again (maxFailedRetries), after a change that may help the given
// number of pods.
func (q *Queue) changedFor(pods int) {
	retries := pods > 0
	for _, class := range q.mu.classes {
		class.failedRetries = 0
		retries = retries || class.earlyRetry.first() != nil
	}
	if retries {
		q.changed.Broadcast()
	}
}

// reactivate lets Next return an unschedulable or gated item, because a change may help it. Next
// returns it early if no pod is active, and otherwise after its back-off. sure means that a node
// fits the item as far as the queue knows. With Options.Strict, the first unschedulable pod of a
// type stays unschedulable, so that it still blocks the pods behind it. Next may return it early
// even if other pods are active.
func (q *Queue) reactivate(queued *item, sure bool) {
	early := queued.earlyRetry(sure)
	if q.options.Strict && queued == queued.class.unschedulable.first() {
		q.reactivateHead(queued, early, sure)
		return
	}
	q.leaveState(queued)
	q.backOff(queued)
	if queued.state != Backoff {
		return
	}
	q.at(queued, early, func() {
		queued.class.earlyRetry.insert(queued)
		q.changed.Signal()
	})
}

// reactivateHead lets Next return the first unschedulable pod of a type from the time early on,
// unless Next may already return it earlier.
func (q *Queue) reactivateHead(queued *item, early time.Time, sure bool) {
	if queued.reactivated || queued.retry != nil && !early.Before(*queued.retry) {
		return
	}
	queued.retry = &early
	q.at(queued, early, func() {
		if queued != queued.class.unschedulable.first() {
			q.reactivate(queued, sure) // another pod is the first unschedulable pod now
			return
		}
		queued.reactivated = true
		q.changed.Broadcast()
	})
}

// earlyRetry returns when Next may return a pod that a change may help before its back-off ends.
// After the first failure there is no delay. After the second one the delay is 10 ms, and it
// doubles with each further failure. If the pod is sure to fit a node, the delay grows to at most 1
// s, so that free resources do not stay unused. Otherwise it grows to at most 10 s.
func (queued *item) earlyRetry(sure bool) time.Time {
	if queued.unschedulableCount <= 1 {
		return queued.failed
	}
	delay := sched.Backoff{First: 10 * time.Millisecond, Most: 10 * time.Second}
	if sure {
		delay.Most = time.Second
	}
	early := queued.failed.Add(delay.Delay(queued.unschedulableCount - 1))
	if early.After(queued.notBefore) {
		return queued.notBefore
	}
	return early
}

// at calls a function at the time due, or at once if that time has passed. It does not call the
// function if the item has left its present state by then. Callers pass items that are
// unschedulable, or that back off and are not in class.earlyRetry yet.
func (q *Queue) at(queued *item, due time.Time, do func()) {
	wait := due.Sub(q.env.Now())
	if wait <= 0 {
		do()
		return
	}
	state, failed := queued.state, queued.failed
	q.env.After(wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if queued.state == state && queued.failed.Equal(failed) && queued.lane != nil == (state == Unschedulable) {
			do()
		}
	})
}
