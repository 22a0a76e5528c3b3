package queue

import "github.com/numalet/numalet/pkg/sched/fairshare"

// class has the pending pods of one type of resource. Classes whose types overlap, such as T4 and
// T4|V100 (T4 or V100), compete for the same resources. They take their next pod from one common
// order, so that a tenant cannot get more turns by naming a type differently. Pods of types that do
// not overlap never wait for each other. One class for all types that overlap was rejected: if some
// pods wait for T4|V100, a T4 pod would have to wait for a V100 pod.
//
// Most pods are in one of the orders below. A pod is in none of them while it is in flight and not
// awaited, or while it backs off and may not be retried early.
type class struct {
	name    fairshare.Type
	rivals  []*class           // the other classes whose types overlap with this one
	strict  bool               // Options.Strict
	tenants map[string]*tenant // by name
	pods    int                // pending, in any state

	active        order
	earlyRetry    order // in back-off; Next may return them before their back-off ends
	onPermit      order // in the state WaitingOnPermit, or in flight and awaited
	unschedulable order
	aside         order // gated, or unschedulable and hopeless: they block nobody
	failedRetries int   // attempts that failed since the last change that may help a pod
}

// maxFailedRetries is how many attempts may fail after a change. After that, the pods in earlyRetry
// have to wait for the end of their back-off. The number is greater than the number of workers, but
// still small.
const maxFailedRetries = 32

// next returns the pod of the class whose turn it is, or nil. This is the first in order of three
// pods: the first active pod, the first pod of onPermit, and the first unschedulable pod if a
// change may help it. next leaves out pods that another pod blocks. If no pod remains, it returns
// the first pod of earlyRetry, which is still in back-off.
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

// competing returns the number of pending pods of the class and of overlapping types.
func (c *class) competing() int {
	n := c.pods
	for _, rival := range c.rivals {
		n += rival.pods
	}
	return n
}

// turn returns the pod that Next returns when it is the turn of the class, or nil. This is the pod
// that c.next returns, unless the next pod of a class with an overlapping type comes before it.
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

// blocker returns the pod that blocks a pod of the class, or nil. The blocking pod may be of an
// overlapping type.
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

// blocks returns the pod of this class that blocks a given pod, or nil. This is the first pod that
// is WaitingOnPermit or awaited, if it is ahead of the given pod. With Options.Strict, it may also
// be the first unschedulable pod, unless AllowBypass was called for that pod.
func (c *class) blocks(queued *item) *item {
	if ahead := c.onPermit.first(); ahead != nil && ahead.before(queued) {
		return ahead
	}
	if head := c.unschedulable.first(); c.strict && head != nil && !head.bypass && head.before(queued) {
		return head
	}
	return nil
}
