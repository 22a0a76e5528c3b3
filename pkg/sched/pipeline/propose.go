package pipeline

import (
	"math/rand/v2"
	"slices"

	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// ProposerOptions are the options of one proposer.
type ProposerOptions struct {
	Filter sched.Filter // filters in addition to those of package filter; no other proposer may use this instance; nil for none
	Rand   *rand.Rand   // chooses the nodes for the policy Random, and one of several equally good nodes for other policies; if Rand is nil, the first of the equally good nodes by name is chosen
}

// Proposer is a scheduler of the first tier: it lists nodes for a pod, from which a Committer
// chooses. It assigns no nodes itself. It may be used by one goroutine at a time.
type Proposer struct {
	view    func() *nodestate.View
	options ProposerOptions
	prefers sched.Preferrer              // options.Filter; nil if that filter does not rate nodes by the pod's preferences
	after   map[string]distbucket.Cursor // by name of the scheduling profile: the best node of the last list, behind which the next search of the index starts
	lists   int                          // number of searches of the index so far

	effort   numaplan.Effort // limits the searches for exclusive CPUs in the current list
	gang     *gangPlan       // the plan of the current gang; nil if the current pod is in no gang
	pod      *sched.Pod      // a copy of the current pod for which p.effort limits the searches (sched.Pod.Within)
	profile  *filter.Profile
	only     []string // names of the only nodes that may fit the pod; nil if any node may fit
	results  any      // results of the additional filters' Begin (sched.Relay); nil for none
	rated    int      // how many nodes to rate by the pod's preferences; 0 if the pod has none
	request  []int64  // what the pod requests in each dimension of the index (filter.Space.AppendPod)
	found    []*distbucket.Node
	ranked   []*sched.Slot // nodes that the profile's ranker returned
	accepted []accepted
	scores   []int64 // the scores of the accepted nodes; the pod's list refers to elements of this slice
	accept   func(*distbucket.Node) bool
}

// NewProposer returns a proposer. For each list, the proposer calls the function given as `view`,
// and searches the view of the cluster that this function returns.
func NewProposer(view func() *nodestate.View, o ProposerOptions) *Proposer {
	p := &Proposer{view: view, options: o, after: map[string]distbucket.Cursor{}}
	p.accept = p.read
	p.prefers, _ = o.Filter.(sched.Preferrer)
	return p
}

// Propose makes the list of nodes for a pod:
//
//  1. Read the newest view, and prepare the filters for the pod.
//  2. Search the index of nodes in the order of the profile's policy. If the profile has a ranker
//     (filter.Profile.Ranker), use the ranker's order instead. Stop when enough nodes have enough
//     free resources for the pod and pass every filter. Score each of these nodes.
//  3. If the pod prefers some nodes to others, find more nodes, and rate each by the pod's
//     preferences.
//  4. Sort the nodes, best first. Equally good nodes keep the order of the search.
//  5. Shorten the list to the length in the profile's field Candidates.
//
// The list is empty if no node fits the pod. It may also be empty if a node fits only because of
// resources that became free after the view was made. The queue then retries the pod (see package
// nodestate). At least the first candidate has a placement. So the committer need not compute a
// placement for this candidate's node if the node does not change. The only exception is a pod to
// which GPU groups offer GPUs (GPURequest.Offer): no candidate of such a pod has a placement.
//
// For a gang, Propose plans nodes for its pods instead (sched.List.Planned).
func (p *Proposer) Propose(pod *sched.Pod) sched.List {
	view := p.view()
	p.effort = numaplan.FullEffort
	if pod.Gang != nil {
		list := sched.List{Pod: pod, FreedSeq: view.FreedSeq, NarrowSeq: view.NarrowSeq}
		p.planGang(pod, view, &list)
		return list
	}
	profile, index := view.Profile(pod.Profile)
	nodes := view.Len()
	p.profile, p.found, p.accepted, p.scores, p.rated = profile, p.found[:0], p.accepted[:0], nil, 0
	if !p.begin(pod).Refuses() {
		if p.prefers != nil {
			p.rated = p.prefers.Preferring(nodes)
		}
		p.find(index)
	}
	list := sched.List{Pod: pod, FreedSeq: view.FreedSeq, NarrowSeq: view.NarrowSeq, Candidates: p.sorted(), Results: p.results}
	if len(list.Candidates) > 0 && !placed(list.Candidates[0]) && pod.GPUs.Offer == nil {
		list.Candidates[0].At, _ = filter.Place(pod, list.Candidates[0].Node)
	}
	return list
}

// find finds the nodes for the current pod's list. If the pod's scheduling profile has a ranker
// (filter.Profile.Ranker), find takes nodes in the ranker's order, except in two cases. The first
// case is that p.only is set: it names the only nodes that may fit, and a ranker cannot restrict
// its search to them. The second case is that GPU groups offer GPUs to the pod (GPURequest.Offer).
// In these two cases, and without a ranker, find searches the index. The ranker, if any, then only
// computes the scores of the nodes that were found.
func (p *Proposer) find(index *distbucket.ReservingView) {
	if p.profile.Ranker != nil {
		p.profile.Ranker.See(p.pod)
	}
	if p.profile.Ranker == nil || p.only != nil || p.pod.GPUs.Offer != nil {
		p.found = index.AppendPick(p.found, p.query(), p.most())
		return
	}
	most := p.most()
	if p.rank(2*most, most) == 0 || p.rated > 0 && len(p.accepted) < most {
		p.accepted = p.accepted[:0]
		p.rank(-1, most)
	}
}

// rank asks the ranker for its n best nodes (all nodes if n is -1). For one node after another,
// best first, it checks whether the node fits the current pod. It stops when the number of accepted
// nodes equals the parameter `most`. It returns the number of accepted nodes.
func (p *Proposer) rank(n, most int) int {
	p.ranked = p.profile.Ranker.Best(p.ranked[:0], p.pod, n)
	for _, slot := range p.ranked {
		if p.readSlot(slot) && len(p.accepted) == most {
			break
		}
	}
	return len(p.accepted)
}

// candidates returns the nodes that were found for the current pod, in the order of the search.
func (p *Proposer) candidates() []sched.Candidate {
	if len(p.found) == 0 && p.profile.Ranker != nil {
		all := make([]sched.Candidate, len(p.accepted))
		for i := range all {
			all[i] = p.accepted[i].Candidate
		}
		return all
	}
	all := make([]sched.Candidate, len(p.found))
	for i, n := range p.found {
		all[i] = p.candidate(n)
	}
	return all
}

// sorted returns the best of the nodes that were found for the current pod, best first. It also
// records that the next search of the index starts behind the best node.
func (p *Proposer) sorted() []sched.Candidate {
	all := p.candidates()
	if len(all) == 0 {
		return nil
	}
	if p.rated > 0 {
		p.rate(all)
	}
	if len(p.found) > 0 {
		p.after[p.profile.Name] = p.found[best(all)].Cursor()
	}
	slices.SortStableFunc(all, func(a, b sched.Candidate) int { return b.Compare(a) })
	return all[:min(len(all), p.profile.Candidates)]
}

// rate sets the field Preference of each candidate: how much the current pod prefers the node.
func (p *Proposer) rate(all []sched.Candidate) {
	nodes := make([]*sched.Node, len(all))
	for i := range all {
		nodes[i] = all[i].Node
	}
	p.prefers.Prefer(nodes, func(ratings []int64) int {
		for i := range all {
			all[i].Preference = ratings[i]
		}
		return best(all)
	})
}

// best returns the index of the best candidate. Of equally good candidates, it returns the first.
func best(all []sched.Candidate) int {
	best := 0
	for i := range all {
		if all[i].Compare(all[best]) > 0 {
			best = i
		}
	}
	return best
}

// placed reports whether a candidate has a placement.
func placed(candidate sched.Candidate) bool { return candidate.At.Node != "" }

// The method `most` returns the maximum number of nodes for which a search computes scores. Often
// this is the length of the list (Profile.Candidates). More nodes are scored in two cases, in which
// the order of the search does not tell which nodes are best. First, if GPU groups offer GPUs to
// the pod, or if the profile has a ranker, all nodes in p.only are scored, because the index knows
// neither GPU groups nor the ranker's order. Second, if the pod prefers some nodes to others,
// p.rated nodes are scored, because neither the index nor a ranker knows the pod's preferences.
func (p *Proposer) most() int {
	if p.pod.GPUs.Offer != nil || p.profile.Ranker != nil {
		return max(p.profile.Candidates, p.rated, len(p.only))
	}
	return max(p.profile.Candidates, p.rated)
}

func (p *Proposer) query() distbucket.Query {
	p.request = p.profile.Space.AppendPod(p.request[:0], p.pod)
	return distbucket.Query{
		Request: p.request, Policy: p.profile.Policy, Candidates: p.only,
		Accept: p.accept, After: p.start(), Task: p.pod.Claim(), Rand: p.options.Rand,
	}
}

// listsPerStart says how often a proposer starts a search at a random node: once in this number of
// searches. The random node is one of the nodes that the policy considers equally good. A list of
// nodes usually takes one search. Random starts avoid conflicts. In a conflict, two proposers list
// the same node, and the node has changed when the committer gets the second list. But a search at
// a random node reads nodes that are not in the processor's cache. The larger the cluster, the more
// cache misses such searches cause, so they should be rare. With 4 proposers, there are not more
// conflicts with the value 64 than with 32 (BenchmarkCycle).
const listsPerStart = 64

// start returns the cursor behind which the search of the index starts. Normally the search starts
// behind the best node of the last list, because the nodes near that node are still in the
// processor's cache. But for one in listsPerStart searches, the method returns an empty cursor,
// from which package distbucket starts the search at a random node. Without these random starts,
// one proposer could follow another one through the index, and would only find nodes that the other
// proposer has just used. There are two exceptions. With the policy NextFit, every search starts
// behind the best node of the last list. With any other policy and without options.Rand, every
// cursor is empty, and among the nodes that the policy considers equally good, the search starts at
// the first one by name.
func (p *Proposer) start() distbucket.Cursor {
	p.lists++
	if p.profile.Policy != distbucket.NextFit && (p.options.Rand == nil || p.lists%listsPerStart == 0) {
		return distbucket.Cursor{}
	}
	return p.after[p.profile.Name]
}

// begin prepares the proposer and its additional filters (options.Filter) for a pod. If no node can
// fit the pod, it returns the reason.
func (p *Proposer) begin(pod *sched.Pod) sched.Reason {
	p.pod, p.only, p.results = pod.Within(&p.effort), pod.Candidates, nil
	if why := pod.Waits(); why.Refuses() {
		return why
	}
	if p.options.Filter == nil {
		return sched.Reason{}
	}
	only, why := p.options.Filter.Begin(pod)
	if relay, ok := p.options.Filter.(sched.Relay); ok {
		p.results = relay.Results()
	}
	switch {
	case p.only == nil:
		p.only = only
	case only != nil:
		p.only = slices.DeleteFunc(slices.Clone(only), func(name string) bool { return !slices.Contains(pod.Candidates, name) })
	}
	return why
}

// accepted is a node that fits the current pod, and its slot, which always has the newest record.
type accepted struct {
	slot *sched.Slot
	sched.Candidate
}

// read reads a node's newest record and reports whether the node fits the current pod. If so, it
// keeps the record in p.accepted, because the list must contain exactly the record that was
// checked.
func (p *Proposer) read(n *distbucket.Node) bool { return p.readSlot(n.Record.(*sched.Slot)) }

func (p *Proposer) readSlot(slot *sched.Slot) bool {
	record := p.recordOf(slot)
	if record == nil {
		return false
	}
	if p.scores == nil {
		p.scores = make([]int64, 0, min(p.most(), filter.DefaultCandidates)*(len(p.profile.Space)+1))
	}
	candidate, why := p.profile.Try(p.pod, record, p.options.Filter, &p.scores)
	if why.Refuses() {
		return false
	}
	p.accepted = append(p.accepted, accepted{slot, candidate})
	return true
}

// candidate returns the candidate that readSlot appended to p.accepted for the given node. If
// readSlot has accepted the node several times, the result is the newest candidate.
func (p *Proposer) candidate(n *distbucket.Node) sched.Candidate {
	for i := len(p.accepted) - 1; ; i-- {
		if p.accepted[i].slot == n.Record.(*sched.Slot) {
			return p.accepted[i].Candidate
		}
	}
}
