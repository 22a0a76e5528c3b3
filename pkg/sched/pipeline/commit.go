package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Effects has the functions by which the committer acts on the rest of the scheduler. Only Bind may
// block, and only until a binder is free. None of the functions may call the committer.
type Effects struct {
	Bind              func(sched.Decision)     // passes a decision to a binder, which calls Committer.Undo if it cannot bind the pod
	Requeue           func(*sched.Pod)         // returns a pod to the queue for a retry, because other pods took its nodes
	Undone            func(*sched.Pod)         // returns a pod to the queue that was placed and could not be bound; nil means Requeue
	MarkUnschedulable func(*sched.Pod, uint64) // returns a pod to the queue that fitted no node; the number is View.FreedSeq when the nodes were read
	// Widen searches all nodes for a pod, with the committer's own filters, and returns a new list. It
	// is called for a pod of a gang that has volumes or devices to reserve (sched.Pod.Reserves) and
	// that does not fit the node that was planned for it. This can happen because plans do not take
	// volumes and devices into account. Widen may be nil if there are no such pods.
	Widen func(*sched.Pod) sched.List
}

// Reserver is an optional interface of a Filter. It reserves resources that nodestate
// does not track, such as volumes.
type Reserver interface {
	// Reserve is called before a decision is recorded in the state, if the earlier Check of the node
	// may be outdated although the node's record is unchanged. This can be so for a pod that may have
	// to wait (sched.Pod.Wait), and for a pod whose fit depends on other nodes too (sched.Pod.Across).
	// It can be so for any pod if State.NarrowSeq has grown since a proposer listed the node:
	// something then happened that makes unchanged nodes unfit for some pods. The given record is the
	// one that the decision was computed from. Check of this or another instance accepted it, but
	// Reserve may still refuse it.
	Reserve(sched.Decision, *sched.Node) sched.Reason
	// Unreserve undoes Reserve because the decision was not recorded or not bound. Any
	// goroutine may call it.
	Unreserve(sched.Decision)
}

// noReserver reserves nothing.
type noReserver struct{}

func (noReserver) Reserve(sched.Decision, *sched.Node) sched.Reason { return sched.Reason{} }
func (noReserver) Unreserve(sched.Decision)                         {}

// Committer is the scheduler of the second tier. It alone assigns pods to nodes. Only one goroutine
// at a time may call Commit. Any goroutine may call Undo and Counters.
//
// No resource is assigned twice, because the state (nodestate.State) accepts a placement only if
// the node's record is the one from which the placement was computed. The versions of records only
// save work: only nodes that changed since they were listed are checked again. The Gödel scheduler
// checks all nodes again, which is more work. Volcano refuses every changed node, so it rejects
// more pods.
type Committer struct {
	state    *nodestate.State
	filter   sched.Filter
	reserver Reserver
	effects  Effects
	counts   counts
	buffer   []entry // reused for each list

	// The method abandon undoes these two after a panic.
	open      []sched.Decision // placed, and not yet passed to a binder
	reserving sched.Decision   // given to the reserver last
}

// NewCommitter returns a committer. f is the committer's own instance of the filters that are
// applied in addition to those of package filter. It may be a Reserver. If f is nil, there are no
// additional filters.
func NewCommitter(state *nodestate.State, f sched.Filter, effects Effects) *Committer {
	committer := &Committer{state: state, filter: f, reserver: noReserver{}, effects: effects}
	if effects.Undone == nil {
		committer.effects.Undone = effects.Requeue
	}
	if r, ok := f.(Reserver); ok {
		committer.reserver = r
	}
	return committer
}

// Commit places a pod on a node of its list, or returns the pod to the queue. It reports whether
// the pod was placed:
//
//  1. Compare the version of each listed node with the version of its newest record. A node that
//     has not changed keeps its score and placement. A node that has changed is scored again.
//  2. Try the nodes, best score first. A changed node is checked again before it is used.
//  3. Bind the pod, or return it to the queue. A proposer then takes it again.
//
// A changed node is checked only when its turn comes. To check all changed nodes first would have
// the same result. But with many proposers, most of the listed nodes have changed, and these checks
// would take half of the committer's time.
func (c *Committer) Commit(list sched.List) bool {
	c.open, c.reserving = c.open[:0], sched.Decision{Pod: list.Pod}
	if list.Pod.Gang != nil {
		return c.commitGang(list)
	}
	decision, ok := c.place(list, c.compare(list))
	if !ok {
		c.returnToQueue(list)
		return false
	}
	c.bind(decision)
	return true
}

// bind passes decisions to the binders.
func (c *Committer) bind(decisions ...sched.Decision) {
	c.open = c.open[:0]
	for _, decision := range decisions {
		c.effects.Bind(decision)
	}
}

// search places a pod of a gang that does not fit the node that was planned for it. It searches all
// nodes, but only if the pod has volumes or devices to reserve.
func (c *Committer) search(pod *sched.Pod) (sched.Decision, bool) {
	if !pod.Reserves || c.effects.Widen == nil {
		return sched.Decision{}, false
	}
	list := c.effects.Widen(pod)
	return c.place(list, entries(list))
}

// entry is a candidate and its index in the list.
type entry struct {
	sched.Candidate
	index   int
	changed bool // since it was listed
}

// entries returns the candidates of a list as entries that have not changed.
func entries(list sched.List) []entry {
	all := make([]entry, len(list.Candidates))
	for i, candidate := range list.Candidates {
		all[i] = entry{Candidate: candidate, index: i}
	}
	return all
}

// compare returns the listed nodes that still exist, best score first, and which of them have
// changed. Nodes with equal scores keep the order of the list. If the pod's fit on a node depends
// on other nodes too, every node counts as changed, because an equal version then proves nothing.
func (c *Committer) compare(list sched.List) []entry {
	all := c.buffer[:0]
	for i, candidate := range list.Candidates {
		newest := candidate.Node.Source.Newest()
		switch {
		case newest == nil:
			c.counts.failed.Add(1)
		case newest.Version == candidate.Node.Version && !list.Pod.Across:
			c.counts.hits.Add(1)
			all = append(all, entry{candidate, i, false})
		default:
			all = append(all, entry{c.rescored(list.Pod, candidate, newest), i, true})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.Compare(a.Candidate) })
	c.buffer = all
	return all
}

// rescored returns a changed node as a candidate with a new score. The node has yet to be checked.
// The preference stays as listed and may be outdated. To compute it again, the committer might have
// to read all nodes, which would take too long. What the pod requires, as opposed to prefers, is
// checked again.
func (c *Committer) rescored(pod *sched.Pod, listed sched.Candidate, node *sched.Node) sched.Candidate {
	now := c.state.Profile(pod.Profile).Rate(pod, node, new([]int64))
	now.Preference = listed.Preference
	return now
}

// place tries the nodes in order and places the pod on the first one that fits.
func (c *Committer) place(list sched.List, nodes []entry) (sched.Decision, bool) {
	rechecker := rechecker{Committer: c, list: list}
	for _, node := range nodes {
		var why sched.Reason
		if !placed(node.Candidate) {
			node.At, why = filter.Place(list.Pod, node.Node)
		}
		if node.changed {
			why = rechecker.recheck(node.Node, why)
		}
		decision := sched.Decision{Pod: list.Pod, At: node.At}
		if !why.Refuses() && c.record(decision, node.Node, list.NarrowSeq) {
			c.open = append(c.open, decision)
			c.counts.commits.Add(1)
			c.counts.index(node.index)
			return decision, true
		}
	}
	return sched.Decision{}, false
}

// record records a decision in the state. seen is the NarrowSeq of the pod's list. The reserver is
// called only if it may refuse the decision. Most pods have nothing to reserve.
func (c *Committer) record(decision sched.Decision, read *sched.Node, seen uint64) bool {
	if !decision.Pod.Across && decision.Pod.Wait == nil {
		if c.state.Place(decision.Pod, read, decision.At, seen) {
			return true
		}
		if c.state.NarrowSeq() == seen {
			return false
		}
	}
	return c.reserve(decision, read)
}

// reserve records a decision in the state and with the reserver, or with neither.
func (c *Committer) reserve(decision sched.Decision, read *sched.Node) bool {
	seen := c.state.NarrowSeq()
	c.reserving = decision
	if c.state.Holds(decision.Pod.UID) || c.reserver.Reserve(decision, read).Refuses() {
		return false
	}
	if c.state.Place(decision.Pod, read, decision.At, seen) {
		return true
	}
	c.reserver.Unreserve(decision)
	return false
}

// returnToQueue returns a pod to the queue, unless it is already assigned. If the list is empty, a
// retry is useless until resources become free. The queue compares the list's FreedSeq with the
// current counter to find out whether resources have become free since the search.
func (c *Committer) returnToQueue(list sched.List) {
	switch {
	case c.state.Holds(list.Pod.UID):
		c.counts.alreadyPlaced.Add(1)
	case len(list.Candidates) == 0:
		c.counts.unschedulable.Add(1)
		c.effects.MarkUnschedulable(list.Pod, list.FreedSeq)
	default:
		c.counts.requeues.Add(1)
		c.effects.Requeue(list.Pod)
	}
}

// Undo reverts a decision that could not be bound. The pod's resources on the node are free again,
// the version of the node's record grows, and the pod returns to the queue. If the pod turns out to
// be bound nevertheless, it keeps its resources.
func (c *Committer) Undo(decision sched.Decision) {
	defer func() { // also if the reserver panics
		if c.state.Undo(decision) {
			c.counts.undone.Add(1)
			c.effects.Undone(decision.Pod)
		}
	}()
	c.reserver.Unreserve(decision)
}

// rechecker checks the changed nodes of one list. It prepares the additional filters for the pod
// (Begin or Resume) only if a node has to be checked.
type rechecker struct {
	*Committer
	list    sched.List
	begun   bool
	nowhere sched.Reason // why no node fits, from Begin or Resume
}

// recheck returns why a changed node does not fit. why is the reason that package filter returned
// for this node, if any.
func (r *rechecker) recheck(node *sched.Node, why sched.Reason) sched.Reason {
	if !why.Refuses() && r.filter != nil {
		why = r.check(node)
	}
	if why.Refuses() {
		r.counts.failed.Add(1)
	} else {
		r.counts.passed.Add(1)
	}
	return why
}

func (r *rechecker) check(node *sched.Node) sched.Reason {
	if !r.begun {
		r.begun, r.nowhere = true, r.begin()
	}
	if r.nowhere.Refuses() {
		return r.nowhere
	}
	return r.filter.Check(node)
}

// begin prepares the filters for the pod. If the list has results of the proposer's filters, the
// filters reuse them.
func (r *rechecker) begin() sched.Reason {
	if relay, ok := r.filter.(sched.Relay); ok && r.list.Results != nil {
		return relay.Resume(r.list.Pod, r.list.Results)
	}
	_, why := r.filter.Begin(r.list.Pod)
	return why
}
