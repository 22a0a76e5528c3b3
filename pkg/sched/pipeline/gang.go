package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// commitGang places as many of a gang's pods as it can, if that is as many as have
// to start together, or else none, and reports whether it did:
//
//  1. unless they have to wait whatever is free, place the members in turn, each as the
//     nodes are with those before it; who has its place already, and is being bound,
//     counts as well;
//  2. if too few have a place, give the new ones back, and send the gang back;
//  3. give up what is reserved for the gang, and bind.
//
// Nobody else gives nodes away meanwhile, so who reads a record in between sees less
// to be free than there is, never more. A gang that is sent back holds nothing, and
// so two of them can never wait for what the other holds. To compute all placements
// on records of one's own and to enter them at once was rejected: the indexes and
// the other filters, by which nodes are found, would not know of the members before.
//
// It costs O(members) decisions, by the committer: a gang is one decision in many.
func (c *Committer) commitGang(list sched.List) bool {
	if list.Pod.Waits().Refuses() {
		c.markGangUnschedulable(list.Pod, list.FreedSeq)
		return false
	}
	gang := list.Pod.Gang
	placed, held, seen := c.placeGang(gang)
	if held+len(placed) < gang.Need {
		c.markGangUnschedulable(list.Pod, seen+c.takeBack(placed))
		return false
	}
	c.center.Unreserve(gang.ID)
	for _, d := range placed {
		c.env.Bind(d)
	}
	return true
}

// placeGang places members until so many have no place that it is in vain. It returns
// how many had theirs before, too, and what had ever been given back when it began to
// look.
func (c *Committer) placeGang(gang *sched.Gang) (placed []sched.Decision, held int, seen uint64) {
	seen = c.center.FreedSeq()
	for i, pod := range gang.Members {
		if held+len(placed)+len(gang.Members)-i < gang.Need {
			break
		}
		if c.center.Holds(pod.UID) {
			held++
			continue
		}
		list := c.env.Widen(pod)
		seen = min(seen, list.FreedSeq)
		if d, ok := c.place(list, entries(list)); ok {
			placed = append(placed, d)
		}
	}
	return placed, held, seen
}

// takeBack undoes decisions that nobody was told of, the last one first, and returns how
// often that gave something back.
func (c *Committer) takeBack(placed []sched.Decision) (gains uint64) {
	for _, d := range slices.Backward(placed) {
		c.reserver.Unreserve(d)
		if c.center.Undo(d) {
			gains++
		}
		c.counts.retracted.Add(1)
	}
	return gains
}

// markGangUnschedulable returns a gang to the queue for which too little was free when so much had been given back:
// what its own try has given back is none that helps it, what others have meanwhile is.
func (c *Committer) markGangUnschedulable(pod *sched.Pod, gains uint64) {
	c.counts.unschedulable.Add(1)
	c.env.MarkUnschedulable(pod, gains)
}
