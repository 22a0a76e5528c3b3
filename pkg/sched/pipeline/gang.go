package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// commitGang places the pods of a gang on the nodes that a proposer planned. It reports whether
// the gang starts:
//
//  1. If the gang has to wait for something other than nodes, such as a quota (sched.Pod.Wait),
//     mark it as unschedulable. Do the same if its plan is empty and too few of its pods have
//     nodes already.
//  2. Place the pods in the order of the plan. The placement of a pod is checked again if its
//     node was changed by anything but pods of this gang, or if the pod's fit depends on other
//     nodes too. A pod that no longer fits its node is left out. If the pods of the gang depend
//     on each other, one pod that no longer fits ends the attempt.
//  3. If too few pods are placed, undo the new placements. If any pod of the gang has no node,
//     return the gang to the queue for another plan, even if the gang starts. Otherwise nothing
//     would place that pod later, or report why it has no node.
//  4. Release the gang's reservations, and bind the pods.
//
// While the pods are placed one after another, other goroutines may read that fewer resources are
// free than after an undo. This does no harm. They never read that more are free, because only
// the committer assigns resources. A gang that does not start keeps no placements, so two gangs
// cannot deadlock.
//
// commitGang tries one node for each planned pod. A search for nodes here, for one pod after
// another, was rejected. For a gang of 200 pods with inter-pod affinity, it took half a minute,
// in which all other pods waited for the committer.
func (c *Committer) commitGang(list sched.List) bool {
	gang := list.Pod.Gang
	if len(list.Planned) == 0 && c.held(gang) < gang.Need || list.Pod.Waits().Refuses() {
		c.counts.unschedulable.Add(1)
		c.effects.MarkUnschedulable(list.Pod, list.FreedSeq)
		return false
	}
	placed := c.placeGang(list)
	starts := c.held(gang) >= gang.Need
	if !starts {
		c.retract(placed)
	}
	if c.held(gang) < len(gang.Members) {
		c.counts.requeues.Add(1)
		c.effects.Requeue(list.Pod)
	}
	if !starts {
		return false
	}
	c.state.Unreserve(gang.ID)
	c.bind(placed...)
	return true
}

// held counts the pods of a gang that are assigned.
func (c *Committer) held(gang *sched.Gang) (held int) {
	for _, pod := range gang.Members {
		if c.state.Holds(pod.UID) {
			held++
		}
	}
	return held
}

// placeGang places the pods of a plan that still fit their nodes. If the pods depend on each
// other and one of them no longer fits, it places none.
func (c *Committer) placeGang(list sched.List) (placed []sched.Decision) {
	own := map[sched.RecordSource]sched.Version{} // by node: how many pods of the plan were placed there
	for _, planned := range list.Planned {
		if c.state.Holds(planned.Pod.UID) {
			continue
		}
		d, ok := c.placePlanned(planned, list, own[planned.Node.Source])
		switch {
		case ok:
			own[planned.Node.Source]++
			placed = append(placed, d)
		case list.Pod.Across:
			c.retract(placed)
			return nil
		}
	}
	return placed
}

// placePlanned places one pod of a plan. others is how many pods of the plan were already placed
// on the same node.
func (c *Committer) placePlanned(planned sched.Planned, list sched.List, others sched.Version) (sched.Decision, bool) {
	pod := planned.Pod
	one := sched.List{Pod: pod, NarrowSeq: list.NarrowSeq}
	if pod.Across {
		one.Results = list.Results
	}
	if newest := planned.Node.Source.Newest(); newest != nil {
		// The GPUs that a GPU group offers on the node may change even if the node's record does not.
		e := entry{Candidate: planned.Candidate, changed: newest.Version != planned.Node.Version+others || pod.GPUs.Offer != nil}
		if e.Node = newest; e.changed {
			e.At = sched.Placement{}
		}
		e.changed = e.changed || pod.Across
		if d, ok := c.place(one, []entry{e}); ok {
			return d, true
		}
	}
	return c.search(pod)
}

// retract undoes decisions that have not been passed to a binder, the last one first.
func (c *Committer) retract(placed []sched.Decision) {
	for _, d := range slices.Backward(placed) {
		c.reserver.Unreserve(d)
		c.state.Undo(d)
		c.counts.retracted.Add(1)
	}
}
