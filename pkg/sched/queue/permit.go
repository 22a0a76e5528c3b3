package queue

import (
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Permit reports whether a pod that is in flight may be placed now. The pod may be placed if no
// pod ahead of it blocks it. A blocked pod enters the state WaitingOnPermit. When no pod blocks it
// any more, Next returns it again. It is then awaited: until it is placed or returned to the queue,
// it blocks the pods behind it. A pod that has been WaitingOnPermit for Options.PermitTimeout
// becomes active, and no longer blocks the pods behind it. There is no such timeout for an
// unschedulable pod that blocks others.
//
// If the pod's request has changed since Next returned it, Permit returns false, and the pod
// becomes active. Permit also returns false for a pod that is not in flight, and then changes
// nothing.
//
// The result `awaited` reports whether the pod is awaited, and so blocks the pods behind it. A
// permitted pod that is not awaited need not block any pod: only one goroutine calls Permit, and
// before this goroutine calls Permit for another pod, it places the permitted pod, or returns the
// permitted pod to the queue.
func (q *Queue) Permit(pod *sched.Pod) (ok, awaited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, known := q.mu.items[pod.UID]
	switch {
	case !known || queued.state != InFlight:
		return false, false
	case queued.Pod != pod: // the pod's request has changed since Next returned the pod
		q.leaveState(queued)
		q.enterState(queued, Active)
		return false, false
	case queued.awaited:
		return true, true
	case queued.class.blocker(queued) == nil:
		return true, false
	}
	q.leaveState(queued)
	q.waitOnPermit(queued)
	return false, false
}

// waitOnPermit puts an item in the state WaitingOnPermit for at most Options.PermitTimeout. The
// caller must hold q.mu.
func (q *Queue) waitOnPermit(queued *item) {
	q.enterState(queued, WaitingOnPermit)
	queued.notBefore = q.env.Now().Add(q.options.PermitTimeout)
	q.activateLater(queued)
}

// Placed records that an awaited pod (see Permit) has been assigned a node. The pods behind it may
// then be scheduled while its Binding is written.
func (q *Queue) Placed(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[pod.UID]
	if !ok || queued.state != InFlight || !queued.awaited {
		return
	}
	q.leaveState(queued)
	queued.awaited = false
	q.changed.Broadcast()
}

// Undone returns a pod to the queue, because the pod was placed but its Binding failed. A node
// fitted the pod, so the pod no longer counts as unschedulable. An earlier call of AllowBypass,
// which let other pods be scheduled before this pod, no longer applies. If a later attempt finds no
// node for the pod, the pod counts as unschedulable from that attempt on (Head.Since).
func (q *Queue) Undone(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queued := q.endAttempt(pod); queued != nil {
		queued.bypass, queued.unschedulableSince, queued.refused = false, time.Time{}, sched.Reason{}
		q.backOffAfterLoss(queued)
	}
}

// AllowBypass lets the pods behind an unschedulable pod be scheduled before it. This permission
// ends when Block is called for the unschedulable pod, or when that pod is placed. Package
// reservation calls AllowBypass after it has tried to reserve a node for the unschedulable pod.
func (q *Queue) AllowBypass(uid string) { q.setBypass(uid, true) }

// Block undoes AllowBypass: the pods behind the unschedulable pod have to wait for it again.
func (q *Queue) Block(uid string) { q.setBypass(uid, false) }

func (q *Queue) setBypass(uid string, bypass bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok || queued.bypass == bypass {
		return
	}
	queued.bypass = bypass
	if queued.state == InFlight {
		q.leaveState(queued)
		q.enterState(queued, InFlight)
	}
	q.changed.Broadcast()
}

// Head is the unschedulable pod whose turn comes first among those that wait for one type of
// resource.
type Head struct {
	Type  fairshare.Type
	Pod   *sched.Pod
	Since time.Time // when the pod first fitted no node
}

// Heads returns, for each type of resource that has unschedulable pods, the pod whose turn comes
// first. It leaves out hopeless pods (Env.Hopeless). Pods of types that overlap, such as T4 and
// T4|V100, are in the order of their turns.
func (q *Queue) Heads() []Head {
	q.mu.Lock()
	defer q.mu.Unlock()
	var first []*item
	for _, class := range q.mu.classes {
		if queued := class.unschedulable.first(); queued != nil {
			first = append(first, queued)
		}
	}
	slices.SortFunc(first, func(a, b *item) int {
		if a.before(b) {
			return -1
		}
		return 1 // two pods are never equal: their UIDs differ
	})
	heads := make([]Head, len(first))
	for i, queued := range first {
		heads[i] = Head{queued.class.name, queued.Pod, queued.unschedulableSince}
	}
	return heads
}
