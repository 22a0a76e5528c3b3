package pipeline

import (
	"iter"
	"slices"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Planner is an optional interface of a sched.Filter. After a call of Plan, the filter
// treats the pods of the given decisions as assigned to their nodes. Each call of Plan
// replaces the decisions of the call before.
type Planner interface {
	Plan([]sched.Decision)
}

// Refuser is an optional interface of a sched.Filter. Refusals counts the nodes that do not fit
// the pod of the latest call of Begin, by reason. It returns nil if it could count them only by a
// check of each node.
type Refuser interface {
	Refusals() sched.Tally
}

// Explain counts the nodes of the newest view by the reason why they do not fit a pod. Nodes that
// fit are not counted. For a gang, Explain plans one pod after another, and counts the nodes for
// the first pod that fits no node. The result `planned` is the number of pods that were planned
// before that pod. If enough pods of the gang fit, `planned` is the number of pods that must start
// together, and `tally` is nil. Explain checks every node, unless the additional filters can count
// the nodes (Refuser). So call it for messages to users, and not in every attempt to schedule a
// pod.
func (p *Proposer) Explain(pod *sched.Pod) (planned int, tally sched.Tally) {
	p.effort = numaplan.FullEffort
	pods, need := pod.Together()
	if need == 1 || pod.Waits().Refuses() {
		return 0, p.tally(pod, p.view().Nodes())
	}
	r := &rehearsal{Proposer: p, nodes: slices.Collect(p.view().Nodes())}
	defer p.plan(nil)
	for i, one := range pods {
		if len(r.plan) == need || len(r.plan)+len(pods)-i < need {
			break
		}
		if !r.place(one) && tally == nil {
			planned, tally = len(r.plan), p.tally(one, slices.Values(r.nodes))
		}
	}
	if len(r.plan) == need {
		return need, nil
	}
	return planned, tally
}

// rehearsal plans the pods of a gang one after another, to find the first pod that fits no node.
// Its field `nodes` has the records of all nodes as they would be if the pods planned so far were
// placed.
type rehearsal struct {
	*Proposer
	nodes []*sched.Node
	plan  []sched.Decision
	at    int // index of the node used last; searches start there, because the pods of a gang are mostly alike
}

// place plans a pod on the first node that fits, and reports whether there is one. It tries the
// nodes in the order of r.nodes, beginning with the node that was used last.
func (r *rehearsal) place(pod *sched.Pod) bool {
	r.Proposer.plan(r.plan)
	if r.begin(pod).Refuses() {
		return false
	}
	for range r.nodes {
		if node := r.nodes[r.at]; !r.check(node).Refuses() {
			at, _ := filter.Place(pod, node)
			r.nodes[r.at] = node.Take(sched.Hold(pod, at))
			r.plan = append(r.plan, sched.Decision{Pod: pod, At: at})
			return true
		}
		r.at = (r.at + 1) % len(r.nodes)
	}
	return false
}

// check returns the reason why a node does not fit the current pod, or no reason if the node
// fits.
func (p *Proposer) check(node *sched.Node) sched.Reason {
	if r := filter.Check(p.pod, node); r.Refuses() || p.options.Filter == nil {
		return r
	}
	return p.options.Filter.Check(node)
}

// plan tells the additional filters, if they are a Planner, which pods of a gang are planned so
// far.
func (p *Proposer) plan(pods []sched.Decision) {
	if planner, ok := p.options.Filter.(Planner); ok {
		planner.Plan(pods)
	}
}

// tally counts the nodes that do not fit a pod, by reason.
func (p *Proposer) tally(pod *sched.Pod, nodes iter.Seq[*sched.Node]) sched.Tally {
	tally, nowhere := sched.Tally{}, p.begin(pod)
	if refuser, ok := p.options.Filter.(Refuser); ok && !nowhere.Refuses() {
		if all := refuser.Refusals(); all != nil {
			return all
		}
	}
	for node := range nodes {
		why := nowhere
		if !why.Refuses() {
			why = p.explain(node)
		}
		if why.Refuses() {
			tally[why]++
		}
	}
	return tally
}

// explain returns the reason why a node does not fit the current pod. If both the additional
// filters and package filter have a reason, explain returns that of the additional filters,
// because users know these reasons from kube-scheduler. If the pod would fit the node without the
// reservation of another pod, the reason is that reservation.
func (p *Proposer) explain(node *sched.Node) sched.Reason {
	if p.options.Filter != nil {
		if why := p.options.Filter.Check(node); why.Refuses() {
			return why
		}
	}
	why := filter.Check(p.pod, node)
	if why.Refuses() && node.Reserved != nil && !filter.Check(p.pod, node.Reserve(nil)).Refuses() {
		return sched.Reason{Code: sched.Reserved}
	}
	return why
}
