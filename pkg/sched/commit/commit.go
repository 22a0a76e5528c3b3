package commit

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/center"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Env is what the committer does to the world. Only Bind may wait, and only for
// binders that are behind; none may call the committer.
type Env struct {
	Bind    func(sched.Decision)     // write the decision down; Undo if that fails
	Requeue func(*sched.Pod)         // its nodes went to others: try again
	Park    func(*sched.Pod, uint64) // no node suited it when so much had been given back (View.Gains)
}

// Committer is the second-tier scheduler, the only one that gives nodes away.
// Commit serves one goroutine; Undo and Counters any.
//
// Safety rests on one comparison: the centre enters a placement only on the very
// record from which it was computed. Versions save work beyond that. A list is
// re-checked only where a node changed since it was read, which is less than to
// re-check all (as Gödel's binder does) and accepts more than to turn down
// whatever changed (as Volcano's does).
type Committer struct {
	center *center.Center
	check  sched.Check
	env    Env
	counts counts
}

// New returns a committer. check is filters beside package filter's, its own
// instance; nil for none.
func New(c *center.Center, check sched.Check, env Env) *Committer {
	return &Committer{center: c, check: check, env: env}
}

// Commit places a pod on one of its first list, or sends it back, and reports
// whether it has a place:
//
//  1. compare versions: what is unchanged makes the second list, with its
//     scores, what changed the third (T3);
//  2. filter the third list again and score what is left: the fourth (T3);
//  3. take the second and fourth together, best first, and try to place the pod
//     on each in turn (T4);
//  4. bind it, or send it back to the pending pods (T4).
func (c *Committer) Commit(list sched.List) bool {
	second, third := c.compare(list)
	fourth := c.recheck(list.Pod, third)
	decision, ok := c.place(list.Pod, merge(second, fourth))
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
	index int
}

// compare sorts out which nodes of a list are as they were read. For a pod whose
// fit depends on other nodes too, an equal version proves nothing.
func (c *Committer) compare(list sched.List) (second, third []entry) {
	for i, candidate := range list.Candidates {
		newest := c.center.Record(candidate.Node.Name)
		switch {
		case newest == nil:
			c.counts.failed.Add(1)
		case newest.Version == candidate.Node.Version && !list.Pod.Across:
			c.counts.hits.Add(1)
			second = append(second, entry{candidate, i})
		default:
			third = append(third, entry{sched.Candidate{Node: newest}, i})
		}
	}
	return second, third
}

// recheck filters and scores nodes by their newest records.
func (c *Committer) recheck(pod *sched.Pod, third []entry) (fourth []entry) {
	for _, e := range third {
		if c.refuses(pod, e.Node) {
			c.counts.failed.Add(1)
			continue
		}
		c.counts.passed.Add(1)
		e.Score = c.center.Score(pod, e.Node)
		fourth = append(fourth, e)
	}
	return fourth
}

func (c *Committer) refuses(pod *sched.Pod, node *sched.Node) bool {
	return filter.Check(pod, node).Refuses() || c.check != nil && c.check(pod, node).Refuses()
}

// merge puts two lists together, best score first, and equals as in the first
// list.
func merge(second, fourth []entry) []entry {
	all := append(second, fourth...)
	slices.SortFunc(all, func(a, b entry) int {
		if better := b.Score.Compare(a.Score); better != 0 {
			return better
		}
		return a.index - b.index
	})
	return all
}

// place tries the nodes in turn.
func (c *Committer) place(pod *sched.Pod, nodes []entry) (sched.Decision, bool) {
	for _, e := range nodes {
		at, reason := filter.Place(pod, e.Node)
		if !reason.Refuses() && c.center.Place(pod, e.Node, at) {
			c.counts.commits.Add(1)
			c.counts.index(e.index)
			return sched.Decision{Pod: pod, At: at}, true
		}
	}
	return sched.Decision{}, false
}

// sendBack returns a pod to the pending ones, unless it has its place already.
// Where its list was empty, trying again is in vain until something becomes
// free; it is for the queue to know whether that has happened since.
func (c *Committer) sendBack(list sched.List) {
	switch {
	case c.center.Holds(list.Pod.UID):
		c.counts.stray.Add(1)
	case len(list.Candidates) == 0:
		c.counts.parked.Add(1)
		c.env.Park(list.Pod, list.Gains)
	default:
		c.counts.requeues.Add(1)
		c.env.Requeue(list.Pod)
	}
}

// Undo takes a decision back that could not be bound: the node gets everything
// back, its version grows, and the pod is pending again. A pod that turns out to
// be bound keeps its place.
func (c *Committer) Undo(d sched.Decision) {
	if c.center.Undo(d) {
		c.counts.undone.Add(1)
		c.env.Requeue(d.Pod)
	}
}
