package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Entry is a pending pod with the values that decide when its turn comes.
type Entry struct {
	Pod      *sched.Pod
	Priority int32
	Created  time.Time
	Type     fairshare.Type // the type of resource that the pod waits for
	Tenant   string
}

// Env has the functions and values that the queue gets from its caller. FreedSeq, Rank and Hopeless
// must not call the queue, because the queue calls them with its lock held.
type Env struct {
	Now func() time.Time
	// The function After calls the given function after the given duration, from a goroutine of its
	// own, as time.AfterFunc does.
	After func(time.Duration, func())
	// FreedSeq returns how often resources of nodes have been released (nodestate.State.FreedSeq).
	FreedSeq func() uint64
	// Rank returns a tenant's present fair-share score for a type of resource, divided by the tenant's
	// weight. Of two tenants, the pods of the tenant with the smaller rank come first. If Rank is nil,
	// all tenants rank equally.
	Rank func(tenant string, t fairshare.Type) float64
	// Hopeless reports whether no node could hold a pod even if all other pods ended. Such a pod
	// blocks no other pods, and gets no reservation. If Hopeless is nil, no pod counts as hopeless.
	Hopeless func(*sched.Pod) bool
	// Space has the resources that Freed compares first, to find the pods that may fit a node. Freed
	// then checks these pods exactly. If Space is nil, Freed uses CPU and memory.
	Space filter.Space
}

// Options configure a Queue. For a field that is zero, the default in the field's comment applies.
type Options struct {
	Backoff       sched.Backoff // back-off of a pod whose nodes were taken by other pods or refused it, or whose Binding failed; default: 10 ms to 10 s
	Unschedulable sched.Backoff // back-off of a pod that fitted no node; default: 1 s to 10 s, as in kube-scheduler
	PermitTimeout time.Duration // the maximum time of a pod in the state WaitingOnPermit; default: 30 s
	// If Strict is set, the first unschedulable pod of a type of resource blocks the pods behind it
	// that wait for this type or an overlapping type, until it is placed or AllowBypass is called
	// for it. Kueue's StrictFIFO is similar. If Strict is not set, the pods behind an unschedulable
	// pod may be scheduled before it.
	Strict bool
}

// Queue orders pending pods, each of which is in one State. The states have the names that
// kube-scheduler's scheduling queue uses. The methods may be called from any goroutine.
//
//	        Add              Next            Permit
//	(new) ───────► Active ─────────► InFlight ──────► (placed, Binding is written) ──► Remove
//	               ▲ ▲ ▲             │  │  │
//	               │ │ └─ Backoff ◄──┘  │  │   Requeue: its nodes were taken or refused it; Undone: its Binding failed
//	               │ │       ▲          │  │
//	               │ │       │ Freed, Notify: a change may help
//	               │ └─ Unschedulable,  │  │
//	               │    Gated ◄─────────┘  │   MarkUnschedulable: no node fits, or it has to wait
//	               └─ WaitingOnPermit ◄────┘   Permit: a pod ahead blocks it
//
// Invariants:
//
//   - A pod may block the pods behind it that wait for its type of resource or an overlapping type.
//     Next does not return a blocked pod, and Permit refuses it. A pod blocks others while it is
//     WaitingOnPermit. After Next has returned it from this state, it still blocks them until it is
//     placed (Placed) or returned to the queue. With Options.Strict, the first Unschedulable pod of
//     a type blocks others too, unless AllowBypass was called for it. A hopeless pod (Env.Hopeless)
//     does not count as the first one. Pods ahead of the blocking pod are not affected.
//   - A pod that is blocked while it waits for its turn keeps its State. Whenever a pod may have
//     become unblocked, a waiting call of Next checks again which pods are blocked. So no goroutine
//     has to poll.
//   - A pod that is removed while it is in flight stays removed. Later calls that return it to the
//     queue have no effect.
//
// Permit exists because several goroutines schedule pods concurrently. After Next has returned a
// pod, another pod ahead of it may begin to block it.
//
// Back-off limits how often a pod that always fails is tried, even if each change in the cluster
// may help it. Back-off applies to all pods, including the first unschedulable pod of a type and
// pods whose fit depends on other nodes too (sched.Pod.Across). If a change may help an
// unschedulable pod, the pod becomes active when its back-off ends. If no other pod of its type may
// be scheduled, Next may return the pod earlier (see the method earlyRetry): at once after the
// pod's first failure, and 10 ms after its second failure. This delay of 10 ms doubles with each
// further failure. These early retries stop when maxFailedRetries attempts for pods of the type
// have failed since the last change.
//
// Two simpler ways to retry pods were rejected. In the first, there are no early retries: all pods
// wait for the end of their back-off. Then free CPUs stay unused, for example when 500 pods fit
// only two nodes. Whenever a pod on these nodes ends, all pending pods are retried, and all but one
// fail again. In the end, all of them wait for the maximal back-off. In the second, all
// unschedulable pods are retried after each change. Each pod that ends would then cause one attempt
// for each unschedulable pod.
//
// A pod also backs off if its Binding failed, or if its nodes were taken or refused it (the comment of
// Requeue lists exceptions). Without back-off, such a pod could be retried without end.
//
// Complexity, for n pending pods, t types of resource, and u unschedulable pods: Add, Next and
// Remove take O(log n + t²) time, if the pods of each tenant have few different priorities. Rescore
// takes O(t) time, plus O(log n) time for each pair of a type and a priority that pods of the
// tenant have. Freed usually takes O(t + log u) time, plus O(log n) time for each pod that the
// change may help. The comment of package wakeindex has the worst case.
type Queue struct {
	env     Env
	options Options

	mu struct {
		sync.Mutex
		items   map[string]*item // by UID
		classes []*class         // the classes that have pods; each class is for one type of resource
		last    int              // index of the class that had the latest turn
		count   Depth
		events  uint64 // how often ReactivateTenant was called
		waiting        // the unschedulable and gated pods, indexed by the changes that may help them
	}
	changed sync.Cond
}

// New returns an empty queue.
func New(env Env, o Options) *Queue {
	o.Backoff = o.Backoff.Or(sched.Backoff{First: 10 * time.Millisecond, Most: 10 * time.Second})
	o.Unschedulable = o.Unschedulable.Or(sched.Backoff{First: time.Second, Most: 10 * time.Second})
	if o.PermitTimeout <= 0 {
		o.PermitTimeout = 30 * time.Second
	}
	if env.Hopeless == nil {
		env.Hopeless = func(*sched.Pod) bool { return false }
	}
	if env.Rank == nil {
		env.Rank = func(string, fairshare.Type) float64 { return 0 }
	}
	q := &Queue{env: env, options: o}
	q.mu.items, q.mu.last, q.mu.waiting = map[string]*item{}, -1, newWaiting(env.Space)
	q.changed.L = &q.mu
	return q
}

// Add adds a pod, or replaces a pending pod whose requests have changed. A pod that is in flight
// stays in flight. Any other pod becomes active without back-off. If a change of a pod also ended
// its time as unschedulable pod (Head.Since) and an earlier call of AllowBypass for it, a user could
// block the pods of all others behind an unschedulable pod by changing a label of this pod again and
// again.
func (q *Queue) Add(e Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[e.Pod.UID]
	if !ok {
		queued = &item{added: q.env.Now()}
		q.mu.items[e.Pod.UID] = queued
	}
	q.leaveState(queued)
	q.leaveClass(queued)
	queued.Entry, queued.unschedulableCount, queued.requeueCount = e, 0, 0
	q.joinClass(queued)
	if queued.state == InFlight {
		q.enterState(queued, InFlight)
		return
	}
	q.enterState(queued, Active)
}

// replace sets a new sched.Pod for a pod that is in flight. The pod keeps its state, and its place
// in the order of turns. The method returns false if the pod is not in flight.
func (q *Queue) replace(pod *sched.Pod) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[pod.UID]
	if !ok || queued.state != InFlight {
		return false
	}
	q.mu.waiting.remove(queued)
	queued.Pod = pod
	q.mu.waiting.subscribe(queued)
	return true
}

// Remove removes a pod that was bound or deleted.
func (q *Queue) Remove(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok {
		return
	}
	q.leaveState(queued)
	q.leaveClass(queued)
	q.enterState(queued, none)
	delete(q.mu.items, uid)
	q.changed.Broadcast()
}

// Next waits until it is the turn of a pod, and returns the pod. It returns an error only if ctx
// has ended.
func (q *Queue) Next(ctx context.Context) (*sched.Pod, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for sleeps := false; ctx.Err() == nil; sleeps = true {
		if pod := q.pop(); pod != nil {
			return pod, nil
		}
		if !sleeps {
			defer context.AfterFunc(ctx, q.wakeAll)()
		}
		q.changed.Wait()
	}
	return nil, fmt.Errorf("wait for a pending pod: %w", ctx.Err())
}

// Poll returns the pod that Next would return, or nil if Next would have to wait.
func (q *Queue) Poll() *sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pop()
}

// wakeAll wakes all goroutines that wait in Next.
func (q *Queue) wakeAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// pop returns the pod whose turn it is, and puts it in the state InFlight. It returns nil if no
// class has a pod to return. The classes take turns: pop begins with the class after the one whose
// turn came last. A pod that was WaitingOnPermit or Unschedulable becomes awaited: the pods behind
// it wait until it is placed or returned to the queue. The caller must hold q.mu.
func (q *Queue) pop() *sched.Pod {
	for range q.mu.classes {
		q.mu.last = (q.mu.last + 1) % len(q.mu.classes)
		if queued := q.mu.classes[q.mu.last].turn(); queued != nil {
			queued.awaited = queued.state == WaitingOnPermit || queued.state == Unschedulable
			queued.eventsSeen, queued.missed = q.mu.events, false
			q.leaveState(queued)
			q.enterState(queued, InFlight)
			return queued.Pod
		}
	}
	return nil
}

// Waited returns how long a pod has been pending. It returns false if the pod is not pending.
func (q *Queue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok {
		return 0, false
	}
	return q.env.Now().Sub(queued.added), true
}

// State returns the state of a pending pod. It returns false if the pod is not pending.
func (q *Queue) State(uid string) (State, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok {
		return none, false
	}
	return queued.state, true
}

// Precedes reports whether both pods are pending and the turn of the first one comes before that of
// the second one. The two pods must wait for the same type of resource, or for overlapping types.
func (q *Queue) Precedes(first, second string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	a, b := q.mu.items[first], q.mu.items[second]
	return a != nil && b != nil && a.before(b)
}

// Depth returns the number of pending pods in each State.
func (q *Queue) Depth() Depth {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.count
}

// Rescore is called when the fair-share score of a tenant has changed. It calls Env.Rank for the
// tenant, and moves the tenant's pods to their new places in the queue.
func (q *Queue) Rescore(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, class := range q.mu.classes {
		if t, ok := class.tenants[tenant]; ok {
			head := class.unschedulable.first()
			t.rescore(q.env.Rank(tenant, class.name))
			q.displaced(head)
		}
	}
	q.changed.Broadcast()
}

// RescoreAll calls Env.Rank for all tenants that have pending pods, and moves their pods to their
// new places in the queue.
func (q *Queue) RescoreAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, class := range q.mu.classes {
		head := class.unschedulable.first()
		for name, tenant := range class.tenants {
			tenant.rescore(q.env.Rank(name, class.name))
		}
		q.displaced(head)
	}
	q.changed.Broadcast()
}
