package queue

import (
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Permit reports whether a pod that is in flight may be placed now: no pod ahead of it
// blocks it. Otherwise the pod waits on permit. When nothing blocks it, Next returns it again with
// a permit. After Options.PermitTimeout it becomes active again. A pod behind an unschedulable one
// waits without limit. A pod whose request has changed since Next returned it is active again.
//
// If the pod is awaited, it blocks the pods behind it until it is Placed or returned. No other pod
// with a permit blocks pods: one goroutine asks for permits, and it places or returns a pod before
// it asks for the next permit.
func (q *Queue) Permit(pod *sched.Pod) (ok, awaited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, known := q.mu.items[pod.UID]
	switch {
	case !known || queued.state != InFlight:
		return false, false
	case queued.Pod != pod: // its request has changed since Next returned it
		q.leaveState(queued)
		q.enterState(queued, Active)
		return false, false
	case queued.awaited:
		return true, true
	case queued.class.blocker(queued) == nil:
		return true, false
	}
	q.waitOnPermit(queued)
	return false, false
}

// waitOnPermit makes an item wait on permit. It needs q.mu.
func (q *Queue) waitOnPermit(queued *item) {
	q.enterState(queued, WaitingOnPermit)
	queued.notBefore = q.env.Now().Add(q.options.PermitTimeout)
	q.activateLater(queued)
}

// Placed records that an awaited pod has been assigned a node, so that the pods behind it may
// continue while its Binding is written.
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

// Undone returns a pod to the queue that was placed and whose Binding failed. Earlier attempts in
// which no node fitted the pod no longer count.
func (q *Queue) Undone(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queued := q.endAttempt(pod); queued != nil {
		queued.bypass, queued.unschedulableSince = false, time.Time{}
		q.backOffAfterLoss(queued)
	}
}

// AllowBypass lets the pods behind an unschedulable pod be scheduled before it, until the pod is
// placed or changes. They need not wait, because a node is reserved for the pod or the pod will
// never fit.
func (q *Queue) AllowBypass(uid string) { q.setBypass(uid, true) }

// Block undoes AllowBypass.
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

// Head is the first unschedulable pod of a type.
type Head struct {
	Type  fairshare.Type
	Pod   *sched.Pod
	Since time.Time // when no node fitted it first
}

// Heads returns the first unschedulable pod of each type that has one. Those whose types overlap
// are in the order of their turns.
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
