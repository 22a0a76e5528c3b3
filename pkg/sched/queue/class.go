package queue

import "github.com/numalet/numalet/pkg/sched/fairshare"

// class is the pending pods of one type of resource. Classes whose types overlap, such as T4 and
// T4|V100, compete for the same resources. Their pods form one order, so that a tenant cannot get
// more turns by naming a type differently. Other classes never wait for each other. One class for
// all types that overlap was rejected: a T4 pod would wait for a V100 pod. A pod that is in flight
// without a permit, or that backs off without an early retry, is in none of the orders.
type class struct {
	name    fairshare.Type
	rivals  []*class           // the others whose types overlap
	strict  bool               // Options.Strict
	tenants map[string]*tenant // by name
	pods    int                // pending, in any state

	active        order
	earlyRetry    order // in back-off; Next may return them before it ends
	onPermit      order // waiting on permit, or in flight and awaited
	unschedulable order
	aside         order // gated, or unschedulable and hopeless: they block nobody
	failedRetries int   // attempts that failed since the last change
}

// maxFailedRetries is how many attempts may fail after a change until the pods in
// earlyRetry have to wait for the end of their back-off: it is more than the number of workers, but
// still small.
const maxFailedRetries = 32

// next returns the pod whose turn it is, or nil: the first of the active pods, those that
// wait on permit, and the unschedulable pod that a change may help. A pod with a blocker is not
// returned. If there is no such pod, next returns a pod that is in back-off.
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

// turn returns the pod that goes when it is the class's turn, or nil. This is the pod of next,
// unless the next pod of a class with an overlapping type comes before it.
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

// blocker returns the pod that a pod of the class has to wait for, or nil.
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

// blocks returns the pod of the class that blocks a pod, or nil: the first that waits on
// permit or is awaited, or the first that is unschedulable and does not allow bypass.
func (c *class) blocks(queued *item) *item {
	if ahead := c.onPermit.first(); ahead != nil && ahead.before(queued) {
		return ahead
	}
	if head := c.unschedulable.first(); c.strict && head != nil && !head.bypass && head.before(queued) {
		return head
	}
	return nil
}
