package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Effects is what the committer does to the world. Only Bind may wait, and only for
// binders that are behind; none may call the committer.
type Effects struct {
	Bind              func(sched.Decision)     // write the Binding; Undo if that fails
	Requeue           func(*sched.Pod)         // other pods took its nodes: retry it
	MarkUnschedulable func(*sched.Pod, uint64) // no node fitted it as of that View.FreedSeq
	// Widen makes another first list by the committer's own filters, for a pod
	// whose fit depends on other nodes too and whose list did not hold, and for one
	// of a gang. May be nil where there are none of either.
	Widen func(*sched.Pod) sched.List
}

// Reserver is what a filter may be besides: what sets aside for a decision
// something that is not in the centre, such as volumes.
type Reserver interface {
	// Reserve is asked before a decision is entered, on a node that Check let pass
	// or that is unchanged since another instance's did: that is the record which the
	// decision was computed from. It may still refuse.
	Reserve(sched.Decision, *sched.Node) sched.Reason
	// Unreserve takes it back, for the decision was not entered or not bound. Any
	// goroutine may call it.
	Unreserve(sched.Decision)
}

// nothing reserves nothing.
type nothing struct{}

func (nothing) Reserve(sched.Decision, *sched.Node) sched.Reason { return sched.Reason{} }
func (nothing) Unreserve(sched.Decision)                         {}

// Committer is the second-tier scheduler, the only one that gives nodes away.
// Commit serves one goroutine; Undo and Counters any.
//
// Safety rests on one comparison: the centre enters a placement only on the very
// record from which it was computed. Versions save work beyond that. A list is
// re-checked only where a node changed since it was read, which is less than to
// re-check all (as Gödel's binder does) and accepts more than to turn down
// whatever changed (as Volcano's does).
type Committer struct {
	center   *nodestate.State
	filter   sched.Filter
	reserver Reserver
	env      Effects
	counts   counts
	room     []entry // of the list in hand
}

// NewCommitter returns a committer. f is filters beside package filter's, its own
// instance, and may be a Reserver; nil for none.
func NewCommitter(c *nodestate.State, f sched.Filter, env Effects) *Committer {
	committer := &Committer{center: c, filter: f, reserver: nothing{}, env: env}
	if r, ok := f.(Reserver); ok {
		committer.reserver = r
	}
	return committer
}

// Commit places a pod on one of its first list, or sends it back, and reports
// whether it has a place:
//
//  1. compare versions: what is unchanged makes the second list, with its
//     scores, what changed the third, scored again (T3);
//  2. take both together, best score first, and try to place the pod on each in
//     turn; one of the third list is filtered again first, and so comes to the
//     fourth (T3, T4);
//  3. where the fit depends on other nodes too, and none was left, look again
//     with the newest state: only here does it stand still;
//  4. bind it, or send it back to the pending pods (T4).
//
// To filter all of the third list first comes to the same, and where proposers
// are many, so that most of what they list has changed, takes half of the
// committer's time.
func (c *Committer) Commit(list sched.List) bool {
	if list.Pod.Gang != nil {
		return c.commitGang(list)
	}
	decision, ok := c.place(list, c.compare(list))
	if !ok && list.Pod.Across && c.env.Widen != nil {
		list = c.env.Widen(list.Pod)
		decision, ok = c.place(list, entries(list))
	}
	if !ok {
		c.sendBack(list)
		return false
	}
	c.env.Bind(decision)
	return true
}

// entry is a node of a list, at its index there.
type entry struct {
	sched.Candidate
	index   int
	changed bool // since it was read: it is of the third list
}

// entries returns all of a list.
func entries(list sched.List) []entry {
	all := make([]entry, len(list.Candidates))
	for i, candidate := range list.Candidates {
		all[i] = entry{Candidate: candidate, index: i}
	}
	return all
}

// compare returns the second and third list together, best score first, and
// equals as in the first list. For a pod whose fit depends on other nodes too, an
// equal version proves nothing.
func (c *Committer) compare(list sched.List) []entry {
	all := c.room[:0]
	for i, candidate := range list.Candidates {
		newest := candidate.Node.Source.Newest()
		switch {
		case newest == nil:
			c.counts.failed.Add(1)
		case newest.Version == candidate.Node.Version && !list.Pod.Across:
			c.counts.hits.Add(1)
			all = append(all, entry{candidate, i, false})
		default:
			all = append(all, entry{sched.Candidate{Node: newest, Score: c.center.Score(list.Pod, newest)}, i, true})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.Score.Compare(a.Score) })
	c.room = all
	return all
}

// place tries the nodes in turn.
func (c *Committer) place(list sched.List, nodes []entry) (sched.Decision, bool) {
	judge := judge{Committer: c, list: list}
	for _, e := range nodes {
		at, why := filter.Place(list.Pod, e.Node)
		if e.changed {
			why = judge.recheck(e.Node, why)
		}
		decision := sched.Decision{Pod: list.Pod, At: at}
		if !why.Refuses() && c.enter(decision, e.Node) {
			c.counts.commits.Add(1)
			c.counts.index(e.index)
			return decision, true
		}
	}
	return sched.Decision{}, false
}

// enter makes a decision true, everywhere or nowhere.
func (c *Committer) enter(d sched.Decision, read *sched.Node) bool {
	if c.center.Holds(d.Pod.UID) || c.reserver.Reserve(d, read).Refuses() {
		return false
	}
	if c.center.Place(d.Pod, read, d.At) {
		return true
	}
	c.reserver.Unreserve(d)
	return false
}

// sendBack returns a pod to the pending ones, unless it has its place already.
// Where its list was empty, trying again is in vain until something becomes
// free; it is for the queue to know whether that has happened since.
func (c *Committer) sendBack(list sched.List) {
	switch {
	case c.center.Holds(list.Pod.UID):
		c.counts.alreadyPlaced.Add(1)
	case len(list.Candidates) == 0:
		c.counts.unschedulable.Add(1)
		c.env.MarkUnschedulable(list.Pod, list.FreedSeq)
	default:
		c.counts.requeues.Add(1)
		c.env.Requeue(list.Pod)
	}
}

// Undo takes a decision back that could not be bound: the node gets everything
// back, its version grows, and the pod is pending again. A pod that turns out to
// be bound keeps its place.
func (c *Committer) Undo(d sched.Decision) {
	c.reserver.Unreserve(d)
	if c.center.Undo(d) {
		c.counts.undone.Add(1)
		c.env.Requeue(d.Pod)
	}
}

// judge is the filters beside package filter's, which turn to the pod of a list
// once they are asked.
type judge struct {
	*Committer
	list    sched.List
	turned  bool
	nowhere sched.Reason // why no node would do
}

// recheck filters a changed node again, for which package filter has that reason
// or none.
func (j *judge) recheck(node *sched.Node, why sched.Reason) sched.Reason {
	if !why.Refuses() && j.filter != nil {
		why = j.check(node)
	}
	if why.Refuses() {
		j.counts.failed.Add(1)
	} else {
		j.counts.passed.Add(1)
	}
	return why
}

func (j *judge) check(node *sched.Node) sched.Reason {
	if !j.turned {
		j.turned, j.nowhere = true, j.turn()
	}
	if j.nowhere.Refuses() {
		return j.nowhere
	}
	return j.filter.Check(node)
}

// turn turns the filters to the pod: from where its proposer's had come to, if
// the fit depends on no other node.
func (j *judge) turn() sched.Reason {
	if relay, ok := j.filter.(sched.Relay); ok && j.list.Begun != nil && !j.list.Pod.Across {
		return relay.Resume(j.list.Pod, j.list.Begun)
	}
	_, why := j.filter.Begin(j.list.Pod)
	return why
}
