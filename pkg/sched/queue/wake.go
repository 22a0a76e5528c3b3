package queue

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Freed retries the unschedulable pods that may fit a node. The caller calls it after resources of
// the node became free or the node changed, and after Env.FreedSeq has counted this change. The
// argument is the newest record of the node.
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
// (sched.Pod.Topics) and for which the function in the argument `helps` returns true. If `helps` is
// nil, Notify retries all pods with such a topic. A pod in flight that meets the same conditions is
// retried only if its present attempt finds no node.
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

// ReactivateTenant checks the unschedulable and gated pods of a tenant that may have to wait for
// something other than nodes, such as a quota (sched.Pod.Wait). It retries those that no longer
// have a reason to wait. Pods in flight whose field Wait is not nil are retried too, if their
// present attempt finds no node. This retry applies to pods in flight of all tenants: at the end of
// an attempt, the queue knows only that ReactivateTenant was called during the attempt
// (item.eventsSeen), and not for which tenant.
func (q *Queue) ReactivateTenant(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.events++
	if pods := q.mu.byTenant[tenant]; pods != nil {
		q.reactivateAll(q.of(pods.Released()))
	}
}

// RetryPod retries a pod if it is unschedulable. Call it when a node is known to fit the pod.
func (q *Queue) RetryPod(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queued, ok := q.mu.items[uid]; ok && queued.state == Unschedulable {
		q.reactivate(queued, true)
		q.changedFor(1)
	}
}

// RetryOverdue retries pods that have been unschedulable or gated for at least the given time. It
// begins with the pods that have waited longest. These retries help if nobody observed a change
// that lets a pod fit. One call retries at most the given number of pods, so that pods that failed
// together are not all retried together.
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

// The caller of the methods below must hold q.mu.

func (q *Queue) reactivateAll(items []*item) {
	for _, queued := range items {
		q.reactivate(queued, false)
	}
	q.changedFor(len(items))
}

// changedFor records a change in the cluster that may help the given number of pods. It sets the
// number of failed retries of each class to 0, so that early retries are allowed again
// (maxFailedRetries).
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

// reactivate lets Next return an unschedulable or gated item, because a change in the cluster may
// help it. If no other pod of its class may be scheduled, Next may return the item before its
// back-off ends (earlyRetry). Otherwise Next returns it after its back-off. The argument `sure` is
// true if a node most likely fits the item now, for example because it has enough free resources,
// and the item's fit does not depend on other nodes. With Options.Strict, another rule applies to
// the first unschedulable pod of a type. This pod keeps the state Unschedulable, so that it still
// blocks the pods behind it. Nevertheless, Next may return this pod before its back-off ends, even
// if other pods are active.
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

// reactivateHead does the work of the method `reactivate` for the first unschedulable pod of a type.
// It lets Next return the pod from the time `early` on. If Next may already return the pod at an
// earlier time, nothing changes.
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

// displaced must be called after another pod may have become the first unschedulable pod of a type.
// The argument is the pod that was the first one before, or nil. If Next was allowed to return that
// pod because a change may help it, displaced allows this again, for a pod that is not the first one.
func (q *Queue) displaced(head *item) {
	if head != nil && head.reactivated && head != head.class.unschedulable.first() {
		q.reactivate(head, true) // true: the time from which Next may return the pod has passed, so it must not be set to a later one
	}
}

// earlyRetry returns the time from which Next may return a pod although its back-off has not
// ended, if a change in the cluster may help the pod. After the first failure of the pod, this is
// the time of the failure. After the second failure, it is 10 ms after the failure, and this delay
// doubles with each further failure. The delay grows to at most 10 s. If the argument `sure` is
// true, a node fits the pod as far as the queue knows, and the delay grows to at most 1 s, so that
// free resources do not stay unused.
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

// The method `at` calls the given function at the given time, or at once if this time has passed.
// If the item has left its present state before this time, `at` does not call the function. The
// item must be unschedulable, or it must be in the state Backoff and not yet in the list
// class.earlyRetry. `at` also reads queued.lane, which is nil if the item is in none of the sorted
// lists of its class (see the type `class`). If an unschedulable item is in none of these lists any
// more, or an item in the state Backoff has been added to class.earlyRetry, `at` does not call the
// function.
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
