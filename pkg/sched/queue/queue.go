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

// Entry is a pending pod and what its turn depends on.
type Entry struct {
	Pod      *sched.Pod
	Priority int32
	Created  time.Time
	Type     fairshare.Type // of resource; types take turns, unless they overlap
	Tenant   string
}

// Env is what the queue needs of its surroundings. Neither FreedSeq, Rank nor Hopeless may
// call the queue.
type Env struct {
	Now func() time.Time
	// After calls a function later, from a goroutine of its own, as time.AfterFunc does.
	After func(time.Duration, func())
	// FreedSeq counts how often resources have been freed (nodestate.State.FreedSeq).
	FreedSeq func() uint64
	// Rank is a tenant's score per weight now. Pods of the tenant with the smaller rank
	// come first. Nil ranks all tenants equally.
	Rank func(tenant string, t fairshare.Type) float64
	// Hopeless reports whether no node could hold a pod even if all other pods ended. Such a pod blocks
	// no other pods, and gets no reservation. It is called with the queue's lock held. Nil means that
	// this is not known of any pod.
	Hopeless func(*sched.Pod) bool
	// Space is the dimensions in which Freed compares pods with a node before it compares
	// them exactly: CPU and memory if it is nil.
	Space filter.Space
}

// Options configure a Queue. Zeros are the defaults.
type Options struct {
	Backoff       sched.Backoff // of a pod that lost its nodes, or could not be bound: 10 ms to 10 s
	Unschedulable sched.Backoff // of a pod that fitted no node, as in kube-scheduler: 1 s to 10 s
	PermitTimeout time.Duration // how long a pod waits on permit: 30 s
	// Strict makes an unschedulable pod block the pods behind it, of its type, until it
	// allows them to bypass it, as kueue's StrictFIFO does. Otherwise they bypass it.
	Strict bool
}

// Queue orders pending pods, each of which is in one State. The names are those of
// kube-scheduler's scheduling queue. Its methods may be called from any goroutine.
//
//	        Add              Next            Permit
//	(new) ───────► Active ─────────► InFlight ──────► (placed, Binding is written) ──► Remove
//	               ▲ ▲ ▲             │  │  │
//	               │ │ └─ Backoff ◄──┘  │  │   Requeue, Undone: its node was lost
//	               │ │       ▲          │  │
//	               │ │       │ Freed, Notify: a change may help
//	               │ └─ Unschedulable,  │  │
//	               │    Gated ◄─────────┘  │   MarkUnschedulable: no node fits, or it has to wait
//	               └─ WaitingOnPermit ◄────┘   Permit: a pod ahead blocks it
//
// Invariants:
//
//   - Next never returns a pod while a pod ahead of it, of a type that overlaps its type, has waited on permit and
//     is not yet Placed, or (Options.Strict) is Unschedulable, not hopeless, and does not allow bypass.
//     Permit refuses such a pod. Pods ahead of the blocking one are not affected.
//   - A blocked pod stays in its state and is examined again when something changes, so
//     nothing polls.
//   - A pod that is removed while it is in flight stays removed. Later calls that return it to the
//     queue have no effect.
//
// Workers run concurrently, so without Permit a pod popped later may be bound earlier.
//
// Back-off limits the cost of a pod that always fails, even if each change may help it. The head of
// a type and pods with sched.Pod.Across back off like other pods. A pod that a change may help is
// active again when its back-off ends. If no pod is active, Next returns it earlier: at once after
// its first failure, and after a delay that doubles from 10 ms on (see earlyRetry) after further
// ones. At most maxFailedRetries such attempts may fail. Two simpler ways were rejected. If all
// pods waited for the end of their back-off, free CPUs could stay unused: 500 pods that needed two
// nodes were reactivated whenever a pod ended, all but one failed, and then all waited for the
// maximal back-off. If all pods were retried, every pod that ends would cost O(unschedulable)
// attempts. A pod that lost its nodes to others (but see Requeue) or whose Binding failed always
// backs off, because immediate retries might never end.
//
// Complexity: O(log pods + types²) a pod, O(log tenants) a score (Rescore). A change costs
// O(log unschedulable), and O(log pods) for each pod that it may help (package wakeindex).
type Queue struct {
	env     Env
	options Options

	mu struct {
		sync.Mutex
		items   map[string]*item // by UID
		classes []*class         // that have pods
		last    int              // index of the class that Next returned a pod of last
		count   Depth
		events  uint64 // how often ReactivateTenant was called
		waiting        // unschedulable and gated pods, by what may help them
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

// Add adds a pod, or replaces a pending one whose requests have changed. The pod becomes
// active without back-off, unless it is in flight.
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
	queued.bypass, queued.unschedulableSince = false, time.Time{}
	q.joinClass(queued)
	if queued.state == InFlight {
		q.enterState(queued, InFlight)
		return
	}
	q.enterState(queued, Active)
}

// replace replaces a pod that is in flight, without another change. It returns false if the pod is
// not in flight.
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

// Remove removes a pod: it is bound, or deleted.
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

// Next waits for the pod whose turn it is. Its only error is ctx's.
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

// Poll is Next without waiting. It returns nil if no pod's turn has come.
func (q *Queue) Poll() *sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pop()
}

// wakeAll wakes all goroutines in Next.
func (q *Queue) wakeAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// pop returns the pod whose turn it is, of the next class that has one, or nil. The pods behind a
// pod that has waited on permit wait until that pod is placed. The same holds for an unschedulable
// pod. It needs q.mu.
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

// Waited returns how long a pod has been pending, and false if it is not.
func (q *Queue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok {
		return 0, false
	}
	return q.env.Now().Sub(queued.added), true
}

// State returns the state of a pod, and false if it is not pending.
func (q *Queue) State(uid string) (State, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queued, ok := q.mu.items[uid]
	if !ok {
		return none, false
	}
	return queued.state, true
}

// Depth counts the pending pods by State.
func (q *Queue) Depth() Depth {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.count
}

// Rescore moves the pods of a tenant to their positions by its present rank.
func (q *Queue) Rescore(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, class := range q.mu.classes {
		if t, ok := class.tenants[tenant]; ok {
			t.rescore(q.env.Rank(tenant, class.name))
		}
	}
	q.changed.Broadcast()
}

// RescoreAll is Rescore for all tenants with pending pods.
func (q *Queue) RescoreAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, class := range q.mu.classes {
		for name, tenant := range class.tenants {
			tenant.rescore(q.env.Rank(name, class.name))
		}
	}
	q.changed.Broadcast()
}
