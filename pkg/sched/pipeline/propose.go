package pipeline

import (
	"math/rand/v2"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// ProposerOptions are what a proposer uses beside the centre.
type ProposerOptions struct {
	Filter sched.Filter // more filters, this proposer's own instance; nil for none
	Rand   *rand.Rand   // of Random, and of ties; nil breaks ties by name
}

// Proposer is one first-tier scheduler. It serves one goroutine.
type Proposer struct {
	look    func() *nodestate.View
	options ProposerOptions
	after   map[string]distbucket.Cursor // behind the node that was first of the last list, by profile
	lists   int                          // there were

	pod      *sched.Pod // that is being looked after
	only     []string   // the nodes that may suit it; nil for any
	request  []int64    // its coordinates
	found    []*distbucket.Node
	accepted []accepted
	accept   func(*distbucket.Node) bool
}

// NewProposer returns a proposer that reads the views that look returns.
func NewProposer(look func() *nodestate.View, o ProposerOptions) *Proposer {
	p := &Proposer{look: look, options: o, after: map[string]distbucket.Cursor{}}
	p.accept = p.read
	return p
}

// Propose makes the first list of a pod (T1):
//
//  1. read the newest view, and turn the filters to the pod;
//  2. find the nodes that come first by the profile's policy, each of which
//     suits by its coordinates and by every filter;
//  3. score them, best first; equals stay as they were found;
//  4. leave out what the list has no room for.
//
// The list is empty if and only if no node of the view suits the pod: the index
// yields every node that has a chance, until the list is full.
func (p *Proposer) Propose(pod *sched.Pod) sched.List {
	view := p.look()
	profile, index := view.Profile(pod.Profile)
	p.found, p.accepted = p.found[:0], p.accepted[:0]
	if !p.begin(pod).Refuses() {
		p.found = index.AppendPick(p.found, p.query(profile), p.most(profile))
	}
	list := sched.List{Pod: pod, FreedSeq: view.FreedSeq, Candidates: make([]sched.Candidate, len(p.found))}
	if relay, ok := p.options.Filter.(sched.Relay); ok {
		list.Begun = relay.Begun()
	}
	scores := make([]int64, 0, len(p.found)*(len(profile.Space)+1))
	best := 0
	for i, n := range p.found {
		node, begin := p.record(n.Record.(*nodestate.Slot)), len(scores)
		scores = profile.Score(scores, pod, node)
		list.Candidates[i] = sched.Candidate{Node: node, Score: scores[begin:len(scores):len(scores)]}
		if list.Candidates[i].Score.Compare(list.Candidates[best].Score) > 0 {
			best = i
		}
	}
	slices.SortStableFunc(list.Candidates, func(a, b sched.Candidate) int { return b.Score.Compare(a.Score) })
	list.Candidates = list.Candidates[:min(len(list.Candidates), profile.Wide)]
	if len(list.Candidates) > 0 {
		p.after[profile.Name] = p.found[best].Cursor()
	}
	return list
}

// most is how many nodes are scored: all that may suit where they are offered what
// they have of a group, which the index knows nothing of.
func (p *Proposer) most(profile *nodestate.Profile) int {
	if p.pod.GPUs.Offer != nil {
		return max(profile.Look, len(p.only))
	}
	return profile.Look
}

func (p *Proposer) query(profile *nodestate.Profile) distbucket.Query {
	p.request = profile.Space.AppendPod(p.request[:0], p.pod)
	return distbucket.Query{
		Request: p.request, Policy: profile.Policy, Candidates: p.only,
		Accept: p.accept, After: p.goOn(profile), Task: p.pod.Claim(), Rand: p.options.Rand,
	}
}

// stretch is how many lists a proposer makes of neighbours, among nodes that are
// as good as each other, before it goes elsewhere. The way to where it has not been for
// long is dear, and the more so the more nodes there are; four proposers lose no more
// to each other with 64 than with 32 (BenchmarkCycle).
const stretch = 64

// goOn returns the place behind which to look for nodes first. Neighbours are
// looked at again and again while they are in the processor's cache, where nodes
// drawn anew each time are not. For ever would be too long: who comes behind
// another would find only what that one has just taken.
func (p *Proposer) goOn(profile *nodestate.Profile) distbucket.Cursor {
	p.lists++
	if profile.Policy != distbucket.NextFit && (p.options.Rand == nil || p.lists%stretch == 0) {
		return distbucket.Cursor{}
	}
	return p.after[profile.Name]
}

// begin turns to a pod and says whether no node would do, whichever.
func (p *Proposer) begin(pod *sched.Pod) sched.Reason {
	p.pod, p.only = pod, pod.Candidates
	if why := pod.Waits(); why.Refuses() {
		return why
	}
	if p.options.Filter == nil {
		return sched.Reason{}
	}
	only, why := p.options.Filter.Begin(pod)
	switch {
	case p.only == nil:
		p.only = only
	case only != nil:
		p.only = slices.DeleteFunc(slices.Clone(only), func(name string) bool { return !slices.Contains(pod.Candidates, name) })
	}
	return why
}

// check says why a node does not suit the pod that is being looked after.
func (p *Proposer) check(node *sched.Node) sched.Reason {
	if r := filter.Check(p.pod, node); r.Refuses() || p.options.Filter == nil {
		return r
	}
	return p.options.Filter.Check(node)
}

// accepted is a record that suited.
type accepted struct {
	slot   *nodestate.Slot
	record *sched.Node
}

// read reads a node's newest record and reports whether it suits. A record that
// does is kept: it is what the list vouches for, whatever comes after.
func (p *Proposer) read(n *distbucket.Node) bool {
	slot := n.Record.(*nodestate.Slot)
	record := slot.Newest()
	if record == nil || p.check(record).Refuses() {
		return false
	}
	p.accepted = append(p.accepted, accepted{slot, record})
	return true
}

// record returns a node's record as it was accepted last.
func (p *Proposer) record(slot *nodestate.Slot) *sched.Node {
	for i := len(p.accepted) - 1; ; i-- {
		if p.accepted[i].slot == slot {
			return p.accepted[i].record
		}
	}
}
