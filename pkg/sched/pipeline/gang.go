package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// commitGang places the pods of a gang on the nodes that a proposer planned. It reports whether the
// gang starts. Its steps are:
//
//  1. Mark the gang as unschedulable if it has to wait for something other than nodes, such as a
//     quota (sched.Pod.Wait). Also mark the gang if its plan is empty and too few of its pods
//     already have nodes.
//  2. Place the pods in the order of the plan. Check the placement of a pod again in three cases:
//     the planned node has changed, other than by the placement of pods of this gang; the pod's fit
//     depends on other nodes too; or GPU groups offer GPUs to the pod. Leave out a pod that no
//     longer fits its node. End the attempt when too few pods remain to start the gang. Also end it
//     if the pods' fit depends on other nodes, and a pod without volumes and devices no longer fits.
//  3. If too few pods are placed, undo the new placements. If any pod of the gang has no node,
//     return the gang to the queue for another plan. A gang that starts with only a part of its
//     pods is returned too. Otherwise nothing would place its remaining pods later, or report why
//     they have no nodes.
//  4. If the gang starts, release the gang's reservations, and bind the pods.
//
// While the pods are placed one after another, other goroutines read that the resources of the
// placed pods are in use, although step 3 may undo the placements. This does no harm. A gang that
// does not start keeps no placements. So there is no deadlock of two gangs that each hold the nodes
// that the other one waits for.
//
// For each planned pod, commitGang tries the planned node. If the pod does not fit this node,
// commitGang tries no other node, unless the pod has volumes or devices to reserve. For such a pod,
// it searches all nodes (see the method `search`). An earlier design, in which the committer
// searched all nodes for one pod after another, was rejected. For a gang of 200 pods with inter-pod
// affinity, these searches took half a minute, in which all other pods waited for the committer.
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
		c.effects.Requeue(list.Pod, c.refused)
	}
	if !starts {
		return false
	}
	c.state.Unreserve(gang.ID)
	c.bind(placed...)
	return true
}

// held counts the pods of a gang that are already assigned to a node.
func (c *Committer) held(gang *sched.Gang) (held int) {
	for _, pod := range gang.Members {
		if c.state.Holds(pod.UID) {
			held++
		}
	}
	return held
}

// placeGang places the pods of a plan that still fit their nodes. It places none if too few pods
// remain to start the gang. It also places none if a pod whose fit depends on other nodes, and that
// has no volumes or devices, does not fit: the other pods were planned together with this pod.
func (c *Committer) placeGang(list sched.List) (placed []sched.Decision) {
	pending := slices.DeleteFunc(slices.Clone(list.Planned), func(planned sched.Planned) bool { return c.state.Holds(planned.Pod.UID) })
	most := c.held(list.Pod.Gang) + len(pending)  // how many pods of the gang may have nodes in the end
	own := map[sched.RecordSource]sched.Version{} // by node: how many pods were placed there as planned; each of them has increased the version of the node's record by 1
	for _, planned := range pending {
		before := c.refused
		d, ok := c.placePlanned(planned, list, own[planned.Node.Source])
		if ok && asPlanned(d, planned) {
			own[planned.Node.Source]++
		} else {
			list.Results = nil // what the proposer found out for the next pods holds only if this pod is where it was planned
		}
		if ok {
			c.refused = before // a refusal of another node is no reason why the gang does not start
			placed = append(placed, d)
			continue
		}
		if most--; most < list.Pod.Gang.Need || list.Pod.Across && !planned.Pod.Reserves {
			c.retract(placed)
			return nil
		}
	}
	return placed
}

// asPlanned reports whether a pod was placed on its planned node, with the planned CPUs and GPUs.
func asPlanned(d sched.Decision, planned sched.Planned) bool {
	return d.At.Node == planned.Node.Name && sched.Hold(d.Pod, d.At).Equal(sched.Hold(planned.Pod, planned.At))
}

// placePlanned places one pod of a plan. The argument `others` is the number of pods of the same
// plan that were already placed on the planned node. Each of these pods has increased the version
// of the node's record by 1.
func (c *Committer) placePlanned(planned sched.Planned, list sched.List, others sched.Version) (sched.Decision, bool) {
	pod := planned.Pod
	one := sched.List{Pod: pod, NarrowSeq: list.NarrowSeq}
	if pod.Across {
		one.Results = list.Results
	}
	if newest := planned.Node.Source.Newest(); newest != nil {
		// A pod with an Offer gets GPUs of a GPU group. The GPUs that the group offers on the
		// node may change even if the node's record does not.
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

// retract undoes the given decisions, the last one first. They must not have been passed to a
// binder.
func (c *Committer) retract(placed []sched.Decision) {
	for _, d := range slices.Backward(placed) {
		c.reserver.Unreserve(d)
		c.state.Undo(d)
		c.counts.retracted.Add(1)
	}
}
