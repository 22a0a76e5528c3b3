package queue

import "github.com/numalet/numalet/pkg/sched/fairshare"

// class has the pending pods of one type of resource. Classes whose types overlap, such as T4 and
// T4|V100 (T4 or V100), compete for the same resources. When it is the turn of a class, the queue
// returns the pod that is first among the pods of this class and of the classes whose types
// overlap. So a tenant cannot get more turns by naming a type differently, such as T4|V100 instead
// of T4. Pods of types that do not overlap never wait for each other. To put all types that overlap
// into one class was rejected: T4, V100 and T4|V100 would then be in one class, and a pod that
// needs a T4 might have to wait for a pod that needs a V100.
//
// An order is a list of pods, sorted by their turns. The class has five orders: the fields
// `active`, `earlyRetry`, `onPermit`, `unschedulable` and `aside`. A pod of the class is in one of
// these orders, except in two cases: it is in flight (Next returned it) and does not block the pods
// behind it, or it backs off and Next may not return it before its back-off ends.
//
// A pod enters the state WaitingOnPermit after it was in flight and was not placed, for example
// because a pod ahead of it blocked it. In this state, the pod blocks the pods behind it. When Next
// returns such a pod, or an unschedulable one, the pod is in flight again and is called awaited:
// the pods behind it wait until it is placed or returned to the queue.
type class struct {
	name    fairshare.Type
	rivals  []*class           // the classes other than this one whose types overlap with the type of this class
	strict  bool               // Options.Strict
	tenants map[string]*tenant // by name
	pods    int                // number of pending pods of the class, in any State

	active        order
	earlyRetry    order // pods in back-off that Next may return before their back-off ends
	onPermit      order // pods in the state WaitingOnPermit, and awaited pods; an awaited pod is left out if AllowBypass was called for it, because it then blocks no other pods
	unschedulable order
	aside         order // two kinds of pods that block no other pods: gated ones, and unschedulable ones that would not fit even if all other pods had ended (item.hopeless)
	failedRetries int   // how many attempts to schedule a pod of the class failed since changedFor last set this number to 0, after a change in the cluster
}

// maxFailedRetries is how many attempts to schedule pods of a class may fail after a change in the
// cluster. After so many failures, the pods in class.earlyRetry have to wait for the end of their
// back-off. The number is small, to limit how many attempts fail after each change. But it is
// greater than the usual number of goroutines that schedule pods, so that each goroutine can try a
// pod after a change.
const maxFailedRetries = 32

// next returns the pod of the class that is to be scheduled next, or nil if no pod of the class may
// be scheduled now. It compares three pods and returns the one whose turn comes first: the first
// active pod, the first pod in the state WaitingOnPermit, and the first unschedulable pod if a
// change may help it. It leaves out pods that another pod blocks. If none of the three remains, it
// returns the first pod of c.earlyRetry, which is still in back-off, unless another pod blocks this
// pod or maxFailedRetries attempts have failed since the last change in the cluster.
func (c *class) next() *item {
	var next *item
	for _, queued := range []*item{c.active.first(), c.onPermit.first(), c.unschedulable.first()} {
		if queued != nil && queued.eligible() && c.blocker(queued) == nil && (next == nil || queued.before(next)) {
			next = queued
		}
	}
	if queued := c.earlyRetry.first(); next == nil && queued != nil && c.failedRetries < maxFailedRetries && c.blocker(queued) == nil {
		return queued
	}
	return next
}

// competing returns the number of pending pods of the class and of the classes with overlapping
// types.
func (c *class) competing() int {
	n := c.pods
	for _, rival := range c.rivals {
		n += rival.pods
	}
	return n
}

// turn returns the pod that Queue.Next returns when it is the turn of the class, or nil if the
// method `next` returns no pod of the class. The pod may be of another class, whose type overlaps,
// if the next pod of that class comes before the next pod of c.
func (c *class) turn() *item {
	next := c.next()
	if next == nil {
		return nil
	}
	for _, rival := range c.rivals {
		if queued := rival.next(); queued != nil && queued.before(next) {
			next = queued
		}
	}
	return next
}

// blocker returns the pod that blocks the given pod of the class, or nil if no pod does. The
// blocking pod is of this class, or of a class whose type overlaps.
func (c *class) blocker(queued *item) *item {
	if ahead := c.blocks(queued); ahead != nil {
		return ahead
	}
	for _, rival := range c.rivals {
		if ahead := rival.blocks(queued); ahead != nil {
			return ahead
		}
	}
	return nil
}

// blocks returns the pod of class c that blocks the given pod, or nil if no pod of c does. A pod
// that waits for its next attempt in the state WaitingOnPermit blocks all pods behind it. So does a
// pod that is awaited, unless AllowBypass was called for it. (A pod is awaited if it is in flight,
// and was WaitingOnPermit or unschedulable before.) With Options.Strict, the first unschedulable
// pod blocks all pods behind it too, unless AllowBypass was called for the unschedulable pod.
func (c *class) blocks(queued *item) *item {
	if ahead := c.onPermit.first(); ahead != nil && ahead.before(queued) {
		return ahead
	}
	if head := c.unschedulable.first(); c.strict && head != nil && !head.bypass && head.before(queued) {
		return head
	}
	return nil
}
