package queue

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Freed retries the unschedulable pods that may fit a node, given by its newest record:
// resources became free there, or the node changed. Call it after the change has counted in
// Env.FreedSeq.
func (q *Queue) Freed(node *sched.Node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	helped := q.of(q.mu.bySize.Helped(node))
	for _, it := range helped {
		q.reactivate(it, !it.Pod.Across)
	}
	q.changedFor(len(helped))
}

// Notify retries the pods that wait for one of these topics (sched.Pod.Topics), if helps
// returns true for the pod. A nil helps means all of them. A pod that is in flight is retried,
// too, if its attempt finds no node.
func (q *Queue) Notify(topics []sched.Topic, helps func(*sched.Pod) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	woken := 0
	for _, topic := range topics {
		for it := range q.mu.byTopic[topic] {
			switch {
			case helps != nil && !helps(it.Pod):
			case it.state == InFlight:
				it.missed = true
			case it.byAgeEntry != nil:
				q.reactivate(it, false)
				woken++
			}
		}
	}
	q.changedFor(woken)
}

// ReactivateTenant retries the pods of a tenant that no longer have to wait (sched.Pod.Wait). A pod
// that is in flight is retried, too, if its attempt ends in the state Gated.
func (q *Queue) ReactivateTenant(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.events++
	if pods := q.mu.byTenant[tenant]; pods != nil {
		q.reactivateAll(q.of(pods.Released()))
	}
}

// RetryPod retries a pod if it is unschedulable, because a node fits it now.
func (q *Queue) RetryPod(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it, ok := q.mu.items[uid]; ok && it.state == Unschedulable {
		q.reactivate(it, true)
		q.changedFor(1)
	}
}

// RetryOverdue retries pods that have been unschedulable or gated for an age, the oldest
// first, in case a change that would help them was not observed. It retries at most the given
// number of them, so that pods that failed together are not retried together.
func (q *Queue) RetryOverdue(age time.Duration, most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.env.Now().Add(-age)
	var overdue []*item
	for e := q.mu.byAge.Front(); e != nil && len(overdue) < most; e = e.Next() {
		it := e.Value.(*item)
		if it.failed.After(before) {
			break
		}
		overdue = append(overdue, it)
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
	for _, it := range items {
		q.reactivate(it, false)
	}
	q.changedFor(len(items))
}

// changedFor restarts the early retries after a change that may help a number of pods.
func (q *Queue) changedFor(pods int) {
	retries := pods > 0
	for _, c := range q.mu.classes {
		c.failedRetries = 0
		retries = retries || c.earlyRetry.first() != nil
	}
	if retries {
		q.changed.Broadcast()
	}
}

// reactivate lets Next return an unschedulable or gated item, because a change may help it:
// early if no pod is active, and otherwise after its back-off. sure means that a node fits the item
// as far as the queue knows. A head that blocks others stays in its state and is retried early,
// because no pod behind it can be scheduled before it.
func (q *Queue) reactivate(it *item, sure bool) {
	early := it.earlyRetry(sure)
	if q.options.Strict && it == it.class.unschedulable.first() {
		q.reactivateHead(it, early, sure)
		return
	}
	q.leaveState(it)
	q.backOff(it)
	if it.state != Backoff {
		return
	}
	q.at(it, early, func() {
		it.class.earlyRetry.insert(it)
		q.changed.Signal()
	})
}

// reactivateHead lets Next return the head of a type from a time on, unless Next may already return
// it earlier.
func (q *Queue) reactivateHead(it *item, early time.Time, sure bool) {
	if it.reactivated || it.retry != nil && !early.Before(*it.retry) {
		return
	}
	it.retry = &early
	q.at(it, early, func() {
		if it != it.class.unschedulable.first() {
			q.reactivate(it, sure) // another pod has come before it
			return
		}
		it.reactivated = true
		q.changed.Broadcast()
	})
}

// earlyRetry returns when Next may return a pod that a change may help before its back-off
// ends. The delay doubles from 10 ms to 1 s if the pod is sure to fit a node, so that freed
// resources do not stay unused, and to 10 s otherwise.
func (it *item) earlyRetry(sure bool) time.Time {
	if it.unschedulableCount <= 1 {
		return it.failed
	}
	delay := sched.Backoff{First: 10 * time.Millisecond, Most: 10 * time.Second}
	if sure {
		delay.Most = time.Second
	}
	early := it.failed.Add(delay.Delay(it.unschedulableCount - 1))
	if early.After(it.notBefore) {
		return it.notBefore
	}
	return early
}

// at calls a function at a time, or at once if the time has passed, unless the item has left its
// state by then. Its callers pass items that are unschedulable, or that back off and are not in
// earlyRetry yet.
func (q *Queue) at(it *item, due time.Time, do func()) {
	wait := due.Sub(q.env.Now())
	if wait <= 0 {
		do()
		return
	}
	state, failed := it.state, it.failed
	q.env.After(wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if it.state == state && it.failed.Equal(failed) && it.lane != nil == (state == Unschedulable) {
			do()
		}
	})
}
