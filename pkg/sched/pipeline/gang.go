package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// commitGang places as many pods of a gang as fit. If fewer fit than must start
// together, it places none. It reports whether the gang starts:
//
//  1. Unless the gang has to wait anyway, place the members in order. Each sees the
//     nodes with the members before it. Members that are already assigned count too.
//  2. If too few are placed, undo the new placements and return the gang to the queue.
//  3. Release the gang's reservations, and bind the pods.
//
// The committer alone assigns nodes, so concurrent readers may see too few free
// resources meanwhile, but never too many. A gang in the queue holds nothing, so two
// gangs cannot deadlock. Computing all placements on private copies and recording them
// at once was rejected: the indexes and the additional filters would not see the
// members placed before.
//
// It takes O(members) decisions of the committer.
func (c *Committer) commitGang(list sched.List) bool {
	if list.Pod.Waits().Refuses() {
		c.markGangUnschedulable(list.Pod, list.FreedSeq)
		return false
	}
	gang := list.Pod.Gang
	placed, held, seen := c.placeGang(gang)
	if held+len(placed) < gang.Need {
		c.markGangUnschedulable(list.Pod, seen+c.retract(placed))
		return false
	}
	c.state.Unreserve(gang.ID)
	for _, d := range placed {
		c.effects.Bind(d)
	}
	return true
}

// placeGang places members until too few are left for the gang to start. It also
// returns how many were already assigned, and the FreedSeq from before its search.
func (c *Committer) placeGang(gang *sched.Gang) (placed []sched.Decision, held int, seen uint64) {
	seen = c.state.FreedSeq()
	for i, pod := range gang.Members {
		if held+len(placed)+len(gang.Members)-i < gang.Need {
			break
		}
		if c.state.Holds(pod.UID) {
			held++
			continue
		}
		list := c.effects.Widen(pod)
		seen = min(seen, list.FreedSeq)
		if d, ok := c.place(list, entries(list)); ok {
			placed = append(placed, d)
		}
	}
	return placed, held, seen
}

// retract undoes decisions that have not been passed to a binder, the last one first.
// It returns by how much this increased the state's FreedSeq.
func (c *Committer) retract(placed []sched.Decision) (freed uint64) {
	for _, d := range slices.Backward(placed) {
		c.reserver.Unreserve(d)
		if c.state.Undo(d) {
			freed++
		}
		c.counts.retracted.Add(1)
	}
	return freed
}

// markGangUnschedulable returns a gang to the queue that did not fit as of freedSeq.
// freedSeq includes what the gang's own attempt released: that cannot help the gang,
// but what other pods released since then can.
func (c *Committer) markGangUnschedulable(pod *sched.Pod, freedSeq uint64) {
	c.counts.unschedulable.Add(1)
	c.effects.MarkUnschedulable(pod, freedSeq)
}
