package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// gangPlan is a proposer's plan for the pods of a gang. For each planned node, it has the node's
// record as if the planned pods were placed there.
//
// The index in which the proposer searches nodes (package distbucket) does not know the planned
// pods. So its order is wrong for nodes on which pods are planned already. A search leaves out
// these nodes. Then the proposer compares their scores with those of the nodes that the search
// found. If the policy computes no scores, or if the pod prefers some nodes to others, the search
// includes the nodes with planned pods.
type gangPlan struct {
	nodes   map[*sched.Slot]*plannedNode
	order   []*plannedNode // in the order in which they were planned
	planned []sched.Planned
	placed  []sched.Decision // the pods in planned, in the form that the additional filters need (Planner)
}

// plannedNode is a node with planned pods.
type plannedNode struct {
	read *sched.Node // the record without the planned pods
	with *sched.Node // the record with the planned pods
}

// planGang plans as many pods of a gang as fit, one after another, and stores the plan in
// list.Planned. Each pod is planned as if the pods planned before it were already placed. If fewer
// pods fit than must start together, list.Planned stays empty. Pods that are already assigned to a
// node count as fitting. planGang calls find at most once for each pod. It also computes O(m · n)
// scores, where m is the number of pods of the gang and n the number of nodes with planned pods.
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
	best, ok := p.bestPlanned(pod, found)
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

// bestPlanned returns the best of the nodes with planned pods that fit a pod. found has the nodes
// without planned pods that fit the pod, best first. bestPlanned returns false if no node with
// planned pods fits, if found[0] is better, or if searches include the nodes with planned pods. Of
// equally good nodes, the first by name counts as better.
func (p *Proposer) bestPlanned(pod *sched.Pod, found []sched.Candidate) (best sched.Candidate, ok bool) {
	if !p.compares() {
		return best, false
	}
	if len(found) > 0 {
		best = found[0]
	}
	for _, node := range p.gang.order {
		if !p.allows(node.with.Name) || best.Node != nil && !comesFirst(p.profile.Rate(pod, node.with, &p.scores), best) {
			continue
		}
		if candidate, why := p.profile.Try(pod, node.with, p.options.Filter, &p.scores); !why.Refuses() {
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

// allows reports whether p.only, the nodes to which the filters restrict the current pod, includes
// a node.
func (p *Proposer) allows(node string) bool {
	return p.only == nil || slices.Contains(p.only, node)
}

// compares reports whether searches leave out the nodes on which pods of the gang are planned, so
// that the scores of these nodes are compared with those of the nodes found. If it returns false,
// searches include all nodes.
func (p *Proposer) compares() bool {
	return p.rated == 0 && (p.profile.Ranker != nil || p.profile.Policy == distbucket.LeastFit || p.profile.Policy == distbucket.BestFit)
}

// recordOf returns the record of a node that a search has found, as if the planned pods of the gang
// were placed there. It returns nil if the search has to leave out the node.
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
