package queue

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// State is where a pending pod is.
type State uint8

// The states of a pending pod; Queue draws how it moves between them.
const (
	none            State = iota
	Active                // Next returns it when its turn comes
	InFlight              // it is being scheduled, or its Binding is being written
	WaitingOnPermit       // it has been scheduled, but a pod ahead of it is not bound yet
	Backoff               // it is retried later
	Unschedulable         // no node fits it: it waits for a change that may help
	Gated                 // it has to wait whatever nodes have free (sched.Pod.Wait)
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
// Invariant: lane is where the orders of class have the pod, as enterState says, and nil
// if they do not.
type item struct {
	Entry
	class  *class
	tenant *tenant
	lane   *lane
	index  int // in lane

	state       State
	awaited     bool // in flight after it has waited: others wait for it
	reactivated bool // it is unschedulable, and a change may help
	bypass      bool // while it is unschedulable it does not block others
	hopeless    bool // no node could hold it when it failed last (Env.Hopeless)

	topics     []sched.Topic // under which waiting has the pod
	byAgeEntry *list.Element // its place in waiting.byAge; nil if the pod is not there
	missed     bool          // it is in flight, and a change of its topics may help
	retry      *time.Time    // when it is retried in its present state; nil for never

	unschedulableCount int       // attempts for which no node fitted, since the pod last changed
	requeueCount       int       // attempts that failed otherwise, since the last of those
	eventsSeen         uint64    // the queue's events when it was popped last
	added              time.Time // to the queue
	unschedulableSince time.Time // zero if a node may fit it
	failed             time.Time // when no node fitted it last
	notBefore          time.Time // end of its back-off, or of its wait on permit
}

// before reports whether a's turn is before b's; both are of one class, or of overlapping
// types.
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

// joinClass adds an item to its class and its tenant. It creates them if they have no pods yet. It
// needs q.mu.
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

// leaveClass undoes joinClass, if there was one, and drops a class and a tenant without
// pods. It needs q.mu.
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

// leaveState removes an item from the order that it is in. It must be called before any change
// of the values that items are ordered by, and before enterState. It needs q.mu.
func (q *Queue) leaveState(queued *item) {
	if queued.lane != nil {
		queued.lane.in.remove(queued)
	}
	q.mu.waiting.remove(queued)
	queued.reactivated, queued.retry = false, nil
}

// enterState moves an item to a state, and into the order of that state. It needs q.mu.
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
