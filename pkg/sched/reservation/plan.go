package reservation

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/sched"
)

// plan has an Offer for each node that is to be reserved for a pod or a gang, sorted by node name.
type plan []Offer

// equal reports whether two plans reserve the same resources on the same nodes.
func (p plan) equal(other plan) bool {
	return slices.EqualFunc(p, other, func(a, b Offer) bool { return a.Node == b.Node && a.Holding.Equal(b.Holding) })
}

// idle reports whether no assigned pod has to end before the pods of the plan fit.
func (p plan) idle() bool {
	return !slices.ContainsFunc(p, func(o Offer) bool { return !o.Ready.IsZero() || o.Unknown > 0 })
}

// add adds an offer to the plan. If the plan already has an offer of the same node, for another pod
// of the gang, the method merges the two offers: it adds up the resources and the numbers of pods
// whose end is unknown, and keeps the later one of the two times in the field Ready.
func (p plan) add(o Offer) plan {
	i, found := slices.BinarySearchFunc(p, o.Node, func(o Offer, name string) int { return strings.Compare(o.Node, name) })
	if !found {
		return slices.Insert(p, i, o)
	}
	p[i].Holding, p[i].Unknown = p[i].Holding.Plus(o.Holding), p[i].Unknown+o.Unknown
	if o.Ready.After(p[i].Ready) {
		p[i].Ready = o.Ready
	}
	return p
}

// candidate is a node that may be reserved for a pod. Pods of the same gang may already be planned
// on the node.
type candidate struct {
	node     *sched.Node      // the node's record as it will be when the pods that are in the way of the planned pods have ended and the planned pods are placed
	assigned []AssignedPod    // the pods on the node, without those that must end before the planned pods can be placed
	effort   *numaplan.Effort // limits the searches for exclusive CPUs for this plan, on all nodes together
	offer    Offer            // the node's offer to the last evaluated pod; used to rank nodes for the gang's next pod, which usually has equal requests
}

// evaluate computes the node's offer to a pod and stores it in c.offer. It reports whether the node
// has an offer.
func (c *candidate) evaluate(pod *sched.Pod) (ok bool) {
	c.offer, ok = On(pod.Within(c.effort), c.node, c.assigned)
	return ok
}

// take plans the last evaluated pod on the node. From c.node and c.assigned, it removes the pods
// that must end before that pod fits.
func (c *candidate) take() Offer {
	for _, p := range c.offer.InTheWay {
		c.node = c.node.Return(p.Holding)
		i := slices.IndexFunc(c.assigned, func(other AssignedPod) bool { return other.UID == p.UID })
		c.assigned = slices.Delete(c.assigned, i, i+1)
	}
	c.node = c.node.Take(c.offer.Holding)
	return c.offer
}

// plan returns what to reserve for a pod, on the node where the pod will fit soonest. For a gang,
// it plans as many pods as must start together, one after another. If fewer pods of the gang would
// fit, it returns nil, because two gangs that each hold a part of what they need could block each
// other forever. plan calls On once for each node. Then, for each pod of the gang, it sorts the
// nodes and calls On for one node after another, the best first, until one has an offer to the pod.
// The parameter `ending` has the keys of the reservations that end if the plan is carried out.
func (rs *Reservations) plan(pod *sched.Pod, ending map[string]bool) (planned plan) {
	members, need := pod.Together()
	candidates := rs.candidates(members[0], ending)
	var where []sched.Decision
	for i, member := range members {
		if need == 0 || len(members)-i < need {
			break
		}
		if best := rs.best(candidates, member, where); best != nil {
			where = append(where, sched.Decision{Pod: member, At: sched.Placement{Node: best.node.Name}})
			planned = planned.add(best.take())
			need--
			if !best.evaluate(member) {
				candidates = slices.DeleteFunc(candidates, func(c *candidate) bool { return c == best })
			}
		}
	}
	if need > 0 {
		return nil
	}
	return planned
}

// candidates returns the nodes that have an offer for a pod, without the reservations whose keys are
// in `ending`.
func (rs *Reservations) candidates(pod *sched.Pod, ending map[string]bool) (all []*candidate) {
	effort := numaplan.FullEffort
	for node := range rs.state.View().Nodes() {
		if r := node.Reserved; r != nil && ending[r.UID] {
			node = node.Reserve(nil)
		}
		if c := (&candidate{node: node, assigned: AssignedPods(rs.state, node.Name, rs.options.Ends), effort: &effort}); c.evaluate(pod) {
			all = append(all, c)
		}
	}
	return all
}

// best returns the node with the best offer to a pod, or nil if no node has an offer. The parameter
// `planned` has the pods of the same gang that are already planned. To save time, best ranks the
// nodes by their offers to the previous pod of the gang, because most pods of a gang have equal
// requests.
func (rs *Reservations) best(candidates []*candidate, pod *sched.Pod, planned []sched.Decision) *candidate {
	suits := rs.options.Fits(pod, planned)
	ranked := slices.SortedFunc(slices.Values(candidates), func(a, b *candidate) int { return a.offer.Compare(b.offer) })
	for _, c := range ranked {
		if suits(c.node) && c.evaluate(pod) {
			return c
		}
	}
	return nil
}
