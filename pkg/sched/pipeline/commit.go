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
	Bind              func(sched.Decision)     // write the Binding; Undo if that fails
	Requeue           func(*sched.Pod)         // other pods were assigned to its nodes: retry it
	Undone            func(*sched.Pod)         // it was placed and could not be bound: retry it; nil means Requeue
	MarkUnschedulable func(*sched.Pod, uint64) // no node fitted it as of that View.FreedSeq
	// Widen makes a new first list with the committer's own filters. It is used for a pod of a gang
	// with sched.Pod.Reserves that does not fit the node that was planned for it, because plans
	// leave out volumes and devices. It may be nil if there are no such pods.
	Widen func(*sched.Pod) sched.List
}

// Reserver is an optional interface of a Filter. It reserves resources that nodestate
// does not track, such as volumes.
type Reserver interface {
	// Reserve is called before a decision is recorded, if what Check accepted may no longer
	// hold: for a pod that may have to wait (sched.Pod.Wait), for a pod whose fit depends on
	// other nodes too (sched.Pod.Across), and for any pod if nodes may have stopped fitting
	// although their records are unchanged (State.NarrowSeq) since a proposer listed them. The
	// node's record is the one that the decision was computed from; Check of this or another
	// instance accepted it. Reserve may still refuse.
	Reserve(sched.Decision, *sched.Node) sched.Reason
	// Unreserve undoes Reserve because the decision was not recorded or not bound. Any
	// goroutine may call it.
	Unreserve(sched.Decision)
}

// noReserver reserves nothing.
type noReserver struct{}

func (noReserver) Reserve(sched.Decision, *sched.Node) sched.Reason { return sched.Reason{} }
func (noReserver) Unreserve(sched.Decision)                         {}

// Committer is the second-tier scheduler, the only one that assigns nodes. Commit
// serves one goroutine; any goroutine may call Undo and Counters.
//
// One comparison makes this safe: the state accepts a placement only if the node's record is the
// one from which the placement was computed. Versions only save work. Only nodes that changed since
// they were listed are checked again. This is less work than checking all of them (as Gödel's
// binder does), and it rejects fewer pods than refusing every changed node (as Volcano's does).
type Committer struct {
	state    *nodestate.State
	filter   sched.Filter
	reserver Reserver
	effects  Effects
	counts   counts
	buffer   []entry // reused for each list

	// abandon undoes these.
	open      []sched.Decision // placed, and not yet passed to a binder
	reserving sched.Decision   // given to the reserver last
}

// NewCommitter returns a committer. f is the committer's own instance of the filters
// in addition to package filter's. It may be a Reserver; nil means none.
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

// Commit places a pod on a node of its first list, or returns it to the queue. It
// reports whether the pod was placed:
//
//  1. Compare versions. Unchanged nodes form the second list and keep their scores and
//     placements. Changed nodes form the third list and are scored again (T3).
//  2. Try the nodes of both lists, best score first. A node of the third list is
//     checked again first; if it passes, it is in the fourth list (T3, T4).
//  3. Bind the pod, or return it to the queue. A proposer then takes it again.
//
// Nodes of the third list are checked one at a time. Checking all of them first has
// the same result, but takes half of the committer's time when there are many
// proposers, because most of the listed nodes have then changed.
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

// search places a pod of a gang that does not fit the node that was planned for it, if it has
// volumes or devices.
func (c *Committer) search(pod *sched.Pod) (sched.Decision, bool) {
	if !pod.Reserves || c.effects.Widen == nil {
		return sched.Decision{}, false
	}
	list := c.effects.Widen(pod)
	return c.place(list, entries(list))
}

// entry is a candidate and its index in the first list.
type entry struct {
	sched.Candidate
	index   int
	changed bool // since it was listed; it is in the third list
}

// entries returns all candidates of a list as unchanged.
func entries(list sched.List) []entry {
	all := make([]entry, len(list.Candidates))
	for i, candidate := range list.Candidates {
		all[i] = entry{Candidate: candidate, index: i}
	}
	return all
}

// compare returns the second and third list together, best score first. Equal scores
// keep the order of the first list. If the pod's fit depends on other nodes too, every
// node counts as changed, because an equal version then proves nothing.
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

// rescored returns a changed node as a candidate that has not been checked. The preference stays as
// listed and may be outdated. A new one may depend on all nodes, and is not worth that work in the
// committer. What the pod requires is checked again.
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

// record records a decision in the state. seen is the NarrowSeq of its list. The reserver is called
// only if it may refuse. Most pods have nothing to reserve.
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

// returnToQueue returns a pod to the queue, unless it is already assigned. After an
// empty list a retry is useless until resources become free. The queue compares
// FreedSeq to find out whether that has happened since.
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

// Undo reverts a decision that could not be bound. The node gets its resources back,
// its version grows, and the pod returns to the queue. If the pod is bound nevertheless, it keeps
// its assignment.
func (c *Committer) Undo(decision sched.Decision) {
	defer func() { // also if the reserver panics
		if c.state.Undo(decision) {
			c.counts.undone.Add(1)
			c.effects.Undone(decision.Pod)
		}
	}()
	c.reserver.Unreserve(decision)
}

// rechecker checks changed nodes of one list. It calls the additional filters' Begin
// or Resume only if a node has to be checked.
type rechecker struct {
	*Committer
	list    sched.List
	begun   bool
	nowhere sched.Reason // why no node fits, from Begin or Resume
}

// recheck returns why a changed node does not fit. why is the result of package
// filter for this node.
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

// begin prepares the filters for the pod. It resumes from the proposer's results if there
// are any.
func (r *rechecker) begin() sched.Reason {
	if relay, ok := r.filter.(sched.Relay); ok && r.list.Results != nil {
		return relay.Resume(r.list.Pod, r.list.Results)
	}
	_, why := r.filter.Begin(r.list.Pod)
	return why
}
