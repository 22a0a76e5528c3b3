package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Effects has the functions by which the committer acts on the rest of the scheduler. Bind puts a
// decision into a bounded queue, from which other goroutines (binders) take decisions and write
// them to the API server. It may wait until the queue has room. The other functions must return
// soon. None of the functions may call the committer.
type Effects struct {
	Bind func(sched.Decision) // passes a decision to a binder, which calls Committer.Undo if it cannot bind the pod
	// Requeue puts a pod back into the queue for a retry, because none of its nodes could be assigned to
	// it. The reason is the last one for which a node was refused. If another pod has taken the node, this
	// is what the node lacks now. The reason is zero if no node was refused for a reason, for example
	// because all nodes are gone.
	Requeue           func(*sched.Pod, sched.Reason)
	Undone            func(*sched.Pod)         // puts a pod back into the queue, because it was placed but could not be bound; if Undone is nil, Requeue is called instead, without a reason
	MarkUnschedulable func(*sched.Pod, uint64) // puts a pod back into the queue, because it fitted no node; the number is the value of nodestate.View.FreedSeq when the nodes were read
	// Widen searches all nodes for a pod and returns a new list. It uses the filter that was passed
	// to NewCommitter, not the one of a proposer. The committer calls Widen for a pod of a gang if
	// the pod has volumes or devices to reserve (sched.Pod.Reserves), and does not fit the node
	// that a proposer planned for it. This can happen because plans do not take volumes and devices
	// into account. Widen may be nil if no pod has volumes or devices to reserve.
	Widen func(*sched.Pod) sched.List
}

// Reserver is an optional interface of a sched.Filter. It reserves resources that package nodestate
// does not track, such as volumes.
type Reserver interface {
	// Reserve checks a decision once more, and reserves what the pod needs. It is called before the
	// decision is recorded in the state (nodestate.State). It is called only if the filter could
	// refuse the node now, although the node's record is still the one that the filter's Check
	// accepted. This is so in three cases. First, the pod is subject to a quota or the like
	// (sched.Pod.Wait), which other pods may have used up since. Second, the pod's fit on a node
	// depends on other nodes too (sched.Pod.Across). Third, State.NarrowSeq has grown since a proposer
	// listed the node. NarrowSeq grows when something other than a change of the node makes a node
	// unfit for some pods. The given record is the one from which the decision was computed. Check
	// accepted this record, but Reserve may still refuse the decision.
	Reserve(sched.Decision, *sched.Node) sched.Reason
	// Unreserve undoes Reserve. It is called if the decision was not recorded or could not be bound.
	// If nothing is reserved for the decision's pod, Unreserve does nothing. Any goroutine may call
	// Unreserve.
	Unreserve(sched.Decision)
}

// noReserver is used if the filter is not a Reserver. It reserves nothing.
type noReserver struct{}

func (noReserver) Reserve(sched.Decision, *sched.Node) sched.Reason { return sched.Reason{} }
func (noReserver) Unreserve(sched.Decision)                         {}

// Committer is the scheduler of the second tier: it takes the lists of nodes that proposers (the
// first tier) have made for pods, and assigns the pods to nodes. Only one goroutine at a time may
// call Commit. Any goroutine may call Undo and Counters.
//
// No resource is assigned twice, because the state (nodestate.State) accepts a placement only if
// the node's record is the one from which the placement was computed. The committer compares the
// versions of records only to save work: it checks a listed node again only if the node has changed
// since it was listed, or if the pod's fit depends on other nodes too (sched.Pod.Across). Two other
// schedulers solve this differently: Gödel checks all listed nodes again, which is more work, and
// Volcano refuses every changed node, so it rejects more pods.
type Committer struct {
	state    *nodestate.State
	filter   sched.Filter
	reserver Reserver
	effects  Effects
	counts   counts
	buffer   []entry      // reused for each list
	refused  sched.Reason // the last reason for which a node was refused to a pod of the current list; zero if there was none

	// After a panic, the method `abandon` undoes the decisions in these two fields.
	open      []sched.Decision // recorded in the state, and not yet passed to a binder
	reserving sched.Decision   // the decision that was last given to the reserver
}

// NewCommitter returns a committer. The argument f has filters that are applied in addition to
// those of package filter. It may be a Reserver. It must be an instance that only this committer
// uses. If f is nil, there are no additional filters.
func NewCommitter(state *nodestate.State, f sched.Filter, effects Effects) *Committer {
	committer := &Committer{state: state, filter: f, reserver: noReserver{}, effects: effects}
	if effects.Undone == nil {
		committer.effects.Undone = func(pod *sched.Pod) { effects.Requeue(pod, sched.Reason{}) }
	}
	if r, ok := f.(Reserver); ok {
		committer.reserver = r
	}
	return committer
}

// Commit places a pod on a node of its list, or returns the pod to the queue. It reports whether
// the pod was placed. For a gang, it calls commitGang. For any other pod, it takes these steps:
//
//  1. Compare the version of each listed node with the version of its newest record. A node that
//     has not changed keeps its score and placement. A node that has changed is scored again.
//  2. Try the nodes, best first. A changed node is checked again before it is used.
//  3. Pass the decision to a binder, or return the pod to the queue. A pod that was returned is
//     later taken by a proposer again.
//
// Commit checks a changed node only when no better listed node fits. It could check all changed
// nodes before it tries the first one, with the same result. But with many proposers, most of the
// listed nodes have changed, and the checks would take half of the committer's time.
func (c *Committer) Commit(list sched.List) bool {
	c.open, c.reserving, c.refused = c.open[:0], sched.Decision{Pod: list.Pod}, sched.Reason{}
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

// bind passes decisions, which are already recorded in the state, to the binders.
func (c *Committer) bind(decisions ...sched.Decision) {
	c.open = c.open[:0]
	for _, decision := range decisions {
		c.effects.Bind(decision)
	}
}

// search places a pod of a gang if the pod does not fit the node that a proposer planned for it. It
// searches all nodes, but only if the pod has volumes or devices to reserve. For a pod that has
// neither, it returns false.
func (c *Committer) search(pod *sched.Pod) (sched.Decision, bool) {
	if !pod.Reserves || c.effects.Widen == nil {
		return sched.Decision{}, false
	}
	list := c.effects.Widen(pod)
	return c.place(list, entries(list))
}

// entry is a candidate (a node of a pod's list) and its index in this list.
type entry struct {
	sched.Candidate
	index   int
	changed bool // whether the node has changed since it was listed
}

// entries returns an entry for each candidate of a list. The field `changed` of each entry is
// false.
func entries(list sched.List) []entry {
	all := make([]entry, len(list.Candidates))
	for i, candidate := range list.Candidates {
		all[i] = entry{Candidate: candidate, index: i}
	}
	return all
}

// compare returns an entry for each listed node that still exists, best first
// (sched.Candidate.Compare). The entry says whether the node has changed. Equally good nodes keep
// the order of the list. If the pod's fit on a node depends on other nodes too (sched.Pod.Across),
// every node counts as changed. Such a pod may no longer fit a node although the node's version is
// unchanged.
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

// rescored returns a changed node as a candidate with a new score. It does not check whether the
// pod still fits the node. The pod's preference for the node (Candidate.Preference) stays as listed
// and may be outdated. To compute the preference again, the committer might have to read all nodes,
// which would take too long. The requirements of the pod are checked again later.
func (c *Committer) rescored(pod *sched.Pod, listed sched.Candidate, node *sched.Node) sched.Candidate {
	now := c.state.Profile(pod.Profile).Rate(pod, node, new([]int64))
	now.Preference = listed.Preference
	return now
}

// place tries the given nodes in order and places the list's pod on the first node that fits. The
// searches for exclusive CPUs on these nodes share the limit of a single search, so that a pod
// whose containers are hard to pack does not occupy the committer for long. This limit suffices to
// find again the placement that a proposer has found on the first node.
func (c *Committer) place(list sched.List, nodes []entry) (sched.Decision, bool) {
	rechecker := rechecker{Committer: c, list: list}
	effort := numaplan.OneSearch
	pod := list.Pod.Within(&effort)
	for _, node := range nodes {
		var why sched.Reason
		if !placed(node.Candidate) {
			node.At, why = filter.Place(pod, node.Node)
		}
		if node.changed {
			why = rechecker.recheck(node.Node, why)
		}
		if why.Refuses() {
			c.refused = why
			continue
		}
		decision := sched.Decision{Pod: list.Pod, At: node.At}
		if c.record(decision, node.Node, list.NarrowSeq) {
			c.open = append(c.open, decision)
			c.counts.commits.Add(1)
			c.counts.index(node.index)
			return decision, true
		}
	}
	return sched.Decision{}, false
}

// record records a decision in the state, and reports whether it succeeded. The argument `seen` is
// List.NarrowSeq of the pod's list. For most pods, record does not call the reserver, because the
// reserver would accept the decision: it may refuse a decision only in the three cases that the
// comment of Reserver.Reserve lists.
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

// reserve calls the reserver for a decision, then records the decision in the state, and reports
// whether both succeeded. If the state does not accept the decision, the reservation is undone.
func (c *Committer) reserve(decision sched.Decision, read *sched.Node) bool {
	seen := c.state.NarrowSeq()
	c.reserving = decision
	if c.state.Holds(decision.Pod.UID) {
		return false
	}
	if why := c.reserver.Reserve(decision, read); why.Refuses() {
		c.refused = why
		return false
	}
	if c.state.Place(decision.Pod, read, decision.At, seen) {
		return true
	}
	c.reserver.Unreserve(decision)
	return false
}

// returnToQueue returns the pod of a list to the queue, unless the pod is already assigned to a
// node. If the list is empty, a retry is useless until a change in the cluster may help the pod.
// The queue compares the list's FreedSeq with the current counter to find out whether resources
// have become free since the search.
func (c *Committer) returnToQueue(list sched.List) {
	switch {
	case c.state.Holds(list.Pod.UID):
		c.counts.alreadyPlaced.Add(1)
	case len(list.Candidates) == 0:
		c.counts.unschedulable.Add(1)
		c.effects.MarkUnschedulable(list.Pod, list.FreedSeq)
	default:
		c.counts.requeues.Add(1)
		c.effects.Requeue(list.Pod, c.refused)
	}
}

// Undo reverts a decision whose pod could not be bound. The pod's resources on the node are free
// again, the version of the node's record grows, and the pod returns to the queue. If the state
// shows that the pod is bound nevertheless, the pod keeps its resources.
func (c *Committer) Undo(decision sched.Decision) {
	defer func() { // deferred, so that it runs even if the reserver panics
		if c.state.Undo(decision) {
			c.counts.undone.Add(1)
			c.effects.Undone(decision.Pod)
		}
	}()
	c.reserver.Unreserve(decision)
}

// rechecker checks those nodes of one list that have changed since they were listed. It prepares
// the committer's additional filters for the pod (Begin or Resume) only once, when it checks the
// first of these nodes.
type rechecker struct {
	*Committer
	list    sched.List
	begun   bool
	nowhere sched.Reason // the reason why no node fits, as Begin or Resume returned it; zero if a node may fit
}

// recheck checks whether the list's pod still fits a changed node, and returns the reason if it
// does not. Package filter has checked the node before, and its result is the argument `why`.
// recheck calls the committer's additional filters only if package filter accepted the node.
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

// begin prepares the committer's additional filters for the list's pod. If the list has results of
// the proposer's filters (list.Results), the committer's filters reuse them.
func (r *rechecker) begin() sched.Reason {
	if relay, ok := r.filter.(sched.Relay); ok && r.list.Results != nil {
		return relay.Resume(r.list.Pod, r.list.Results)
	}
	_, why := r.filter.Begin(r.list.Pod)
	return why
}
