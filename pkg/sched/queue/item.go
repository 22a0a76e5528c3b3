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

// The states of a pending pod. The comment of Queue has a drawing of the transitions.
const (
	none            State = iota
	Active                // Next returns it when its turn comes
	InFlight              // it is being scheduled, or its Binding is being written
	WaitingOnPermit       // a pod ahead of it blocks it, or it is retried while it blocks the pods behind it (Requeue)
	Backoff               // its last attempt failed, and it is retried later
	Unschedulable         // no node fits it: it waits for a change that may help
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

// Depth counts pods by State.
type Depth [states]int

// item is a pending pod. The queue's lock guards it.
//
// Invariant: if one of the orders of class has the pod, lane is the lane with the pod in that
// order. Otherwise lane is nil. enterState says which order has the pods of which state.
type item struct {
	Entry
	class  *class
	tenant *tenant
	lane   *lane
	index  int // of the pod in lane

	state       State
	awaited     bool // in flight after WaitingOnPermit or Unschedulable: the pods behind it wait for it
	reactivated bool // it is unschedulable, and Next may return it, because a change may help it
	bypass      bool // while it is unschedulable, it does not block others (AllowBypass)
	hopeless    bool // when it last failed, no node could have held it (Env.Hopeless)

	topics     []sched.Topic // under which Queue.mu.waiting has the pod
	byAgeEntry *list.Element // its place in waiting.byAge; nil if the pod is not there
	missed     bool          // it is in flight, and a change that may help it was announced for one of its topics (Notify)
	retry      *time.Time    // when it may be returned early in its present state; nil if this is not scheduled

	unschedulableCount int       // attempts for which no node fitted, since the pod last changed
	requeueCount       int       // attempts that failed for other reasons, since the last attempt for which no node fitted
	eventsSeen         uint64    // Queue.mu.events when Next last returned the pod
	added              time.Time // when it was added to the queue
	unschedulableSince time.Time // when it first fitted no node; zero if a node may fit it
	failed             time.Time // when it last fitted no node
	notBefore          time.Time // end of its back-off, or of its time in WaitingOnPermit
}

// before reports whether a's turn is before b's. Both must be of the same type of resource, or of
// overlapping types.
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

// eligible reports whether the pod's own state allows Next to return it.
func (a *item) eligible() bool {
	return a.state == Active || a.state == WaitingOnPermit || a.state == Unschedulable && a.reactivated
}

// joinClass adds an item to its class and to its tenant in that class. It creates the class and
// the tenant if they do not exist yet. It needs q.mu.
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

// addClass adds a class. It needs q.mu.
func (q *Queue) addClass(name fairshare.Type) {
	c := &class{name: name, strict: q.options.Strict, tenants: map[string]*tenant{}}
	for _, other := range q.mu.classes {
		if name.Overlaps(other.name) {
			c.rivals, other.rivals = append(c.rivals, other), append(other.rivals, c)
		}
	}
	q.mu.classes = append(q.mu.classes, c)
}

// removeClass removes a class. It needs q.mu.
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

// leaveClass removes an item from its class and its tenant, if it has been added to them. It then
// removes a class or a tenant without pods. It needs q.mu.
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

// leaveState removes an item from the order that has it. It must be called before enterState, and
// before any change of the values that items are ordered by. It needs q.mu.
func (q *Queue) leaveState(queued *item) {
	if queued.lane != nil {
		queued.lane.in.remove(queued)
	}
	q.mu.waiting.remove(queued)
	queued.reactivated, queued.retry = false, nil
}

// enterState sets the state of an item, and adds the item to the order of that state. It needs
// q.mu.
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
		in := &queued.class.aside
		if s == Unschedulable && !queued.hopeless {
			in = &queued.class.unschedulable
		}
		in.insert(queued)
		q.mu.waiting.add(queued)
	}
}
