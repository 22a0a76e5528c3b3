package pipeline

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Planner is what a filter may be besides: it sees pods where they are planned, and not
// those of the plan before.
type Planner interface {
	Plan([]sched.Decision)
}

// Explain counts why no node of the newest view suits a pod; nodes that suit are not
// counted. Of those that a pod stands for, one after the other is planned where it fits,
// and it is the first one that fits nowhere; planned is how many come before it. It looks
// at every node: for people, not for every try.
func (p *Proposer) Explain(pod *sched.Pod) (planned int, tally sched.Tally) {
	r := &rehearsal{Proposer: p, nodes: slices.Collect(p.look().Nodes())}
	pods, need := pod.Together()
	if need == 1 || pod.Waits().Refuses() {
		return 0, p.tally(pod, r.nodes)
	}
	defer p.plan(nil)
	for i, one := range pods {
		if len(r.plan) == need || len(r.plan)+len(pods)-i < need {
			break
		}
		if !r.place(one) && tally == nil {
			planned, tally = len(r.plan), p.tally(one, r.nodes)
		}
	}
	if len(r.plan) == need {
		return need, nil
	}
	return planned, tally
}

// rehearsal is the nodes as they would be with the pods that are planned.
type rehearsal struct {
	*Proposer
	nodes []*sched.Node
	plan  []sched.Decision
	at    int // index of the node that came last: the pods of a gang are mostly alike
}

// place plans a pod on the next node that suits, and reports whether there is one.
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

// plan has the other filters see a plan.
func (p *Proposer) plan(pods []sched.Decision) {
	if planner, ok := p.options.Filter.(Planner); ok {
		planner.Plan(pods)
	}
}

// tally counts nodes that do not suit a pod.
func (p *Proposer) tally(pod *sched.Pod, nodes []*sched.Node) sched.Tally {
	tally, nowhere := sched.Tally{}, p.begin(pod)
	for _, node := range nodes {
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

// explain says why a node does not suit, in the other filters' words if they
// refuse it too: people know those.
func (p *Proposer) explain(node *sched.Node) sched.Reason {
	if p.options.Filter != nil {
		if why := p.options.Filter.Check(node); why.Refuses() {
			return why
		}
	}
	return filter.Check(p.pod, node)
}
