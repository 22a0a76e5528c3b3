package queue

import "github.com/numalet/numalet/pkg/sched/fairshare"

// kind is the pending pods of one type of resource. Pods that are being looked after
// or back off are in none of its orders.
type kind struct {
	name   fairshare.Type
	strict bool
	shares map[string]*share // by tenant
	pods   int               // pending, in whatever state

	ready   order
	eager   order // delayed ones that Next may take before their time
	waiting order // for those ahead of them, and those that may be bound
	blocked order // parked, until a node has room
	barred  order // parked, whatever nodes have (sched.Pod.Wait): nobody waits for them
	vain    int   // tries since the last change
}

// patience is how many pods are tried in vain, after a change that helps, until
// the others keep to their back-off: more than work at one time, and few.
const patience = 32

// next returns the pod of the type whose turn it is, or nil: of the one that is
// ready, the one that has waited for others, and the one that was blocked and may be
// so no more, the first. None of them goes while one before it is being bound or is
// blocked; so it stays where it is, and is asked about again when something changed.
func (k *kind) next() *item {
	var next *item
	for _, it := range []*item{k.ready.first(), k.waiting.first(), k.blocked.first()} {
		if it != nil && it.able() && k.blocker(it) == nil && (next == nil || it.before(next)) {
			next = it
		}
	}
	if it := k.eager.first(); next == nil && it != nil && k.vain < patience && k.blocker(it) == nil {
		return it
	}
	return next
}

// blocker returns the pod that another one has to wait for, or nil: one ahead of it
// that is being bound, or the first of the blocked ones, unless that lets others pass.
func (k *kind) blocker(it *item) *item {
	if ahead := k.waiting.first(); ahead != nil && ahead.before(it) {
		return ahead
	}
	if head := k.blocked.first(); k.strict && head != nil && !head.yields && head.before(it) {
		return head
	}
	return nil
}
