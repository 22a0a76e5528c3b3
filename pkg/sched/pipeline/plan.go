package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// gangPlan is a proposer's plan for the pods of a gang. For each node for which it plans pods, it
// has a record of the node as if these pods were placed there.
//
// The index in which the proposer searches nodes (package distbucket) does not know the planned
// pods. So its order is wrong for nodes on which pods are planned already. Therefore a search
// leaves out these nodes. The proposer then compares the scores of these nodes with those of the
// nodes that the search found. In two cases, the order of the index does no harm, so the search
// includes the nodes with planned pods. First, some policies compute no scores, for example Random.
// The order of nodes under such a policy does not depend on what is free, so the planned pods do
// not change this order. Second, if the pod to be planned prefers some nodes to others, the
// proposer rates all nodes that it has found, and sorts them again by these ratings.
type gangPlan struct {
	nodes   map[*sched.Slot]*plannedNode
	order   []*plannedNode // in the order in which the nodes got their first planned pod
	planned []sched.Planned
	placed  []sched.Decision // the pods in the field `planned`, in the form that the additional filters need (Planner)
}

// plannedNode is a node with planned pods.
type plannedNode struct {
	read *sched.Node // the record without the planned pods
	with *sched.Node // the record with the planned pods
}

// planGang plans as many pods of a gang as fit, one after another, and stores the plan in
// list.Planned. Each pod is planned as if the pods planned before it were already placed. If fewer
// pods fit than must start together, list.Planned stays empty. Pods of the gang that are already
// assigned to a node count as pods that fit. For each pod, planGang searches for nodes at most once
// (the method `find`). It also computes O(m · n) scores, where m is the number of pods of the gang
// and n the number of nodes with planned pods.
func (p *Proposer) planGang(gang *sched.Pod, view *nodestate.View, list *sched.List) {
	if gang.Waits().Refuses() {
		return
	}
	p.gang = &gangPlan{nodes: map[*sched.Slot]*plannedNode{}}
	defer func() { p.gang = nil; p.plan(nil) }()
	p.plan(nil)
	members, held := gang.Gang.Members, 0
	for i, member := range members {
		switch {
		case held+len(p.gang.planned)+len(members)-i < gang.Gang.Need:
			return
		case view.Holds(member.UID):
			held++
		default:
			p.planMember(member, view, list)
		}
	}
	if held+len(p.gang.planned) >= gang.Gang.Need {
		list.Planned = p.gang.planned
	}
}

// planMember plans a pod on the best node that fits it, if there is one.
func (p *Proposer) planMember(pod *sched.Pod, view *nodestate.View, list *sched.List) {
	profile, index := view.Profile(pod.Profile)
	p.profile, p.found, p.accepted, p.scores, p.rated = profile, p.found[:0], p.accepted[:0], nil, 0
	if p.begin(pod).Refuses() {
		return
	}
	if p.prefers != nil {
		p.rated = p.prefers.Preferring(view.Len())
	}
	if pod.Across && list.Results == nil {
		list.Results = p.results
	}
	p.find(index)
	found := p.sorted()
	best, ok := p.bestPlanned(found)
	if !ok && len(found) > 0 {
		best, ok = found[0], true
	}
	if !ok {
		return
	}
	if !placed(best) {
		best.At, _ = filter.Place(pod, best.Node)
	}
	p.gang.add(pod, best)
	p.plan(p.gang.placed)
}

// bestPlanned returns the best node that fits the current pod, among the nodes for which pods of the
// gang are already planned. The argument `found` has the other nodes that fit the pod, best first.
// bestPlanned returns false in three cases: no node with planned pods fits; found[0] is better than
// all of them; or the method `compares` returns false, because `found` then has the nodes with
// planned pods too. Of equally good nodes, the first by name counts as better.
func (p *Proposer) bestPlanned(found []sched.Candidate) (best sched.Candidate, ok bool) {
	if !p.compares() {
		return best, false
	}
	if len(found) > 0 {
		best = found[0]
	}
	for _, node := range p.gang.order {
		if !p.allows(node.with.Name) || best.Node != nil && !comesFirst(p.profile.Rate(p.pod, node.with, &p.scores), best) {
			continue
		}
		if candidate, why := p.profile.Try(p.pod, node.with, p.options.Filter, &p.scores); !why.Refuses() {
			best, ok = candidate, true
		}
	}
	return best, ok
}

// comesFirst reports whether candidate a is better than candidate b, or is as good and has a node
// whose name comes first.
func comesFirst(a, b sched.Candidate) bool {
	if better := a.Compare(b); better != 0 {
		return better > 0
	}
	return a.Node.Name < b.Node.Name
}

// allows reports whether the filters allow a node for the current pod: p.only has the names of the
// only nodes that may fit the pod, or is nil if any node may fit.
func (p *Proposer) allows(node string) bool {
	return p.only == nil || slices.Contains(p.only, node)
}

// compares reports whether searches leave out the nodes with planned pods (see gangPlan). In this
// case, bestPlanned compares the scores of these nodes with the scores of the nodes that a search
// has found. If the result is false, searches include all nodes.
func (p *Proposer) compares() bool {
	return p.rated == 0 && (p.profile.Ranker != nil || p.profile.Policy == distbucket.LeastFit || p.profile.Policy == distbucket.BestFit)
}

// recordOf returns the record of a node that a search has found, as if the planned pods of the gang
// were placed there. It returns nil if the search has to leave out the node, because pods are
// planned there.
func (p *Proposer) recordOf(slot *sched.Slot) *sched.Node {
	if p.gang == nil {
		return slot.Newest()
	}
	node := p.gang.nodes[slot]
	switch {
	case node == nil:
		return slot.Newest()
	case p.compares():
		return nil
	}
	return node.with
}

// add adds a pod and the node that was chosen for it to the plan.
func (g *gangPlan) add(pod *sched.Pod, on sched.Candidate) {
	slot := slotOf(on.Node)
	node := g.nodes[slot]
	if node == nil {
		node = &plannedNode{read: on.Node, with: on.Node}
		g.nodes[slot], g.order = node, append(g.order, node)
	}
	node.with = node.with.Take(sched.Hold(pod, on.At))
	g.placed = append(g.placed, sched.Decision{Pod: pod, At: on.At})
	on.Node = node.read
	g.planned = append(g.planned, sched.Planned{Pod: pod, Candidate: on})
}

// slotOf returns the slot of a node, which is the variable that always holds the newest record of
// the node.
func slotOf(node *sched.Node) *sched.Slot { return &node.Source.(*nodestate.Entry).Slot }
