package queue

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// State is the state of a pending pod in the queue.
type State uint8

// The states of a pending pod. The comment of Queue has a drawing of the changes between them.
const (
	none            State = iota
	Active                // Next returns it when its turn comes
	InFlight              // it is being scheduled, or its Binding is being written
	WaitingOnPermit       // its last attempt ended because a pod ahead of it blocked it (Permit), or because other pods had taken its nodes several times (Requeue); it waits for its next attempt, and blocks the pods behind it
	Backoff               // its last attempt failed, and it is retried later
	Unschedulable         // no node fits it: it waits for a change in the cluster that may help it
	Gated                 // it has to wait for something other than nodes, such as a quota (sched.Pod.Wait)
	states
)

// String returns "active", "inFlight", "waitingOnPermit", "backoff", "unschedulable" or
// "gated".
func (s State) String() string {
	return [...]string{"none", "active", "inFlight", "waitingOnPermit", "backoff", "unschedulable", "gated"}[s]
}

// States returns all states of pending pods.
func States() []State {
	return []State{Active, InFlight, WaitingOnPermit, Backoff, Unschedulable, Gated}
}

// Depth has the number of pending pods in each State.
type Depth [states]int

// item is a pending pod in the queue. The queue's lock guards the fields of each item.
//
// A lane has those pods of an order (see the type `class`) that have the same tenant and the same
// priority. Invariant: if the pod is in one of the orders of its class, the field `lane` has the
// pod's lane in that order. Otherwise, the field `lane` is nil. The method `enterState` decides
// which order a pod enters when its state changes.
type item struct {
	Entry
	class  *class
	tenant *tenant
	lane   *lane
	index  int // index of the pod in `lane`

	state       State
	awaited     bool // it is in flight, and was WaitingOnPermit or Unschedulable before; the pods behind it wait until it is placed or returned to the queue
	reactivated bool // it is unschedulable, but Next may return it, because a change in the cluster may help it
	bypass      bool // while it is unschedulable, it does not block the pods behind it (AllowBypass)
	hopeless    bool // when an attempt last found no node for it, no node could have held it even if all other pods had ended (Env.Hopeless)

	topics     []sched.Topic // the topics under which Queue.mu.waiting.byTopic has the pod
	byAgeEntry *list.Element // its place in waiting.byAge; nil if the pod is not there
	missed     bool          // it is in flight, and a change that may help it was announced for one of its topics (Notify)
	retry      *time.Time    // set only with Options.Strict, and only for the first unschedulable pod of a type: the time from which Next may return it before its back-off ends; nil if no such time is set

	unschedulableCount int          // number of calls of MarkUnschedulable for the pod since the last call of Add for it
	requeueCount       int          // number of calls of Requeue and Undone for the pod since the last call of MarkUnschedulable or Add for it, whichever was later
	refused            sched.Reason // the reason that the last call of Requeue had, zero after Undone
	eventsSeen         uint64       // the value of Queue.mu.events when Next last returned the pod; if Queue.mu.events has changed at the end of the attempt, ReactivateTenant was called during the attempt
	added              time.Time    // when it was added to the queue
	unschedulableSince time.Time    // time of the first attempt that found no node for the pod, since it was added or Undone was last called for it; zero if there was no such attempt
	failed             time.Time    // when MarkUnschedulable was last called for it
	notBefore          time.Time    // in the state Backoff, Unschedulable or Gated, the end of its back-off; in the state WaitingOnPermit, the time at which the state times out and the pod becomes active
}

// The method `before` reports whether the turn of pod a is before that of pod b. The two pods must
// wait for the same type of resource, or for overlapping types.
func (a *item) before(b *item) bool {
	if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
		return c < 0
	}
	if c := cmp.Compare(a.tenant.rank, b.tenant.rank); c != 0 {
		return c < 0
	}
	if c := a.Created.Compare(b.Created); c != 0 {
		return c < 0
	}
	return a.Pod.UID < b.Pod.UID
}

func (a *item) moved(to int) { a.index = to }

// eligible reports whether the pod's own state allows Next to return the pod. It does not consider
// early retries, which are pods in the list class.earlyRetry.
func (a *item) eligible() bool {
	return a.state == Active || a.state == WaitingOnPermit || a.state == Unschedulable && a.reactivated
}

// joinClass adds an item to the class of its type of resource, and to its tenant in that class.
// It creates the class and the tenant if they do not exist yet. The caller must hold q.mu.
func (q *Queue) joinClass(queued *item) {
	i := slices.IndexFunc(q.mu.classes, func(c *class) bool { return c.name == queued.Type })
	if i < 0 {
		i = len(q.mu.classes)
		q.addClass(queued.Type)
	}
	queued.class = q.mu.classes[i]
	queued.tenant = queued.class.tenants[queued.Tenant]
	if queued.tenant == nil {
		queued.tenant = &tenant{name: queued.Tenant, rank: q.env.Rank(queued.Tenant, queued.Type)}
		queued.class.tenants[queued.Tenant] = queued.tenant
	}
	queued.class.pods++
	queued.tenant.pods++
}

// addClass adds a class for a type of resource. The caller must hold q.mu.
func (q *Queue) addClass(name fairshare.Type) {
	c := &class{name: name, strict: q.options.Strict, tenants: map[string]*tenant{}}
	for _, other := range q.mu.classes {
		if name.Overlaps(other.name) {
			c.rivals, other.rivals = append(c.rivals, other), append(other.rivals, c)
		}
	}
	q.mu.classes = append(q.mu.classes, c)
}

// removeClass removes a class without pods. The caller must hold q.mu.
func (q *Queue) removeClass(c *class) {
	for _, rival := range c.rivals {
		i := slices.Index(rival.rivals, c)
		rival.rivals = slices.Delete(rival.rivals, i, i+1)
	}
	i := slices.Index(q.mu.classes, c)
	q.mu.classes = slices.Delete(q.mu.classes, i, i+1)
	if i <= q.mu.last {
		q.mu.last--
	}
}

// leaveClass removes an item from its class and its tenant, if it has been added to them. If the
// tenant then has no pods in the class, leaveClass removes the tenant from the class. If the
// class then has no pods, leaveClass removes the class. The caller must hold q.mu.
func (q *Queue) leaveClass(queued *item) {
	c := queued.class
	if c == nil {
		return
	}
	if queued.tenant.pods--; queued.tenant.pods == 0 {
		delete(c.tenants, queued.tenant.name)
	}
	if c.pods--; c.pods == 0 {
		q.removeClass(c)
	}
	queued.class, queued.tenant = nil, nil
}

// leaveState removes an item from the order (a sorted list of pods of its class) that it is in, if
// any, and from q.mu.waiting. If the item is in an order, leaveState must be called before
// enterState, and before any change of the values that items are sorted by. The caller must hold
// q.mu.
func (q *Queue) leaveState(queued *item) {
	if queued.lane != nil {
		queued.lane.in.remove(queued)
	}
	q.mu.waiting.remove(queued)
	queued.reactivated, queued.retry = false, nil
}

// enterState sets the state of an item, and adds the item to the order (a sorted list of pods of
// its class) for that state, if there is one. It also adds the item to q.mu.waiting if a change in
// the cluster may help it. The caller must hold q.mu.
func (q *Queue) enterState(queued *item, s State) {
	q.mu.count[queued.state]--
	q.mu.count[s]++
	queued.state = s
	switch s {
	case Active:
		queued.class.active.insert(queued)
		q.changed.Signal()
	case InFlight:
		q.mu.waiting.subscribe(queued)
		if queued.awaited && !queued.bypass {
			queued.class.onPermit.insert(queued)
		}
	case WaitingOnPermit:
		queued.class.onPermit.insert(queued)
	case Unschedulable, Gated:
		in, head := &queued.class.aside, queued.class.unschedulable.first()
		if s == Unschedulable && !queued.hopeless {
			in = &queued.class.unschedulable
		}
		in.insert(queued)
		q.mu.waiting.add(queued)
		q.displaced(head)
	}
}
