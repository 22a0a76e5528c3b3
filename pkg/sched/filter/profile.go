package filter

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// Profile is a scheduling profile that an administrator configures. It says how nodes for a pod are
// searched and scored.
type Profile struct {
	Name   string  // the name by which pods choose the profile; the first configured profile is the default
	Space  Space   // the dimensions (resources) by which the index of nodes is sorted, most important first
	Theta  []int64 // granularity of each dimension; nil means 1 for all
	Policy distbucket.Policy
	// Candidates is how many nodes a search lists for a pod; 0 means 4. A pipeline.Proposer
	// searches and lists nodes, and a pipeline.Committer assigns the pod to the first listed
	// node. If another pod has taken that node, the committer tries the next one, so no second
	// search is needed.
	Candidates int
	// Ranker, if not nil, decides the order of nodes instead of Policy. Two profiles must not share
	// a Ranker.
	Ranker *fragmentation.Ranker
}

// DefaultCandidates is the number of nodes that a proposer lists for a pod if Profile.Candidates is
// 0.
const DefaultCandidates = 4

// Complete returns a copy of the profile with defaults for the fields that are not set. It returns
// an error if the profile is invalid.
func (p Profile) Complete() (Profile, error) {
	if len(p.Space) == 0 {
		return p, fmt.Errorf("profile %q has no dimensions", p.Name)
	}
	if p.Theta == nil {
		p.Theta = make([]int64, len(p.Space))
		for i := range p.Theta {
			p.Theta[i] = 1
		}
	}
	if len(p.Theta) != len(p.Space) {
		return p, fmt.Errorf("profile %q has %d dimensions, but %d granularities", p.Name, len(p.Space), len(p.Theta))
	}
	if p.Candidates <= 0 {
		p.Candidates = DefaultCandidates
	}
	return p, nil
}

// Rank notifies the profile's ranker of a new or changed node. Without a ranker, it does nothing.
func (p *Profile) Rank(slot *sched.Slot, record *sched.Node) {
	if p.Ranker != nil {
		p.Ranker.Set(slot, record)
	}
}

// Unrank notifies the profile's ranker that a node was removed. Without a ranker, it does nothing.
func (p *Profile) Unrank(name string) {
	if p.Ranker != nil {
		p.Ranker.Remove(name)
	}
}

// Try checks whether a pod fits a node. It returns the node as a candidate for the pod, or the
// reason why the pod does not fit. The argument `also` may be nil. If not, it has filters of
// another system, such as kube-scheduler's. Try calls them after the filters of this package. Try
// appends the score of the node to *scores, so that the scores of all nodes that are listed for a
// pod share one memory allocation.
//
// In two cases, Try does not compute a placement for the candidate. First, if GPU groups offer GPUs
// to the pod (GPURequest.Offer), the placement could be outdated before it is used, even if the
// node's record does not change. Second, if the pod requests several GPUs, to choose them would take
// more time than everything else that Try does. In most cases, only one of the nodes that are listed
// for the pod needs a placement.
func (p *Profile) Try(pod *sched.Pod, node *sched.Node, also sched.Filter, scores *[]int64) (sched.Candidate, sched.Reason) {
	var at sched.Placement
	var why sched.Reason
	if pod.GPUs.Count > 1 || pod.GPUs.Offer != nil {
		why = Check(pod, node)
	} else {
		at, why = Place(pod, node)
	}
	if !why.Refuses() && also != nil {
		why = also.Check(node)
	}
	if why.Refuses() {
		return sched.Candidate{}, why
	}
	c := p.Rate(pod, node, scores)
	c.At = at
	return c, why
}

// Rate returns a node as a candidate for a pod, with the fields Score and Surplus set. Surplus is
// how many GPUs of the pod's GPU group would stay free on the node. Rate does not check whether the
// pod fits the node. Rate appends the numbers of the score to *scores. The field Score is this part
// of *scores (see Try).
func (p *Profile) Rate(pod *sched.Pod, node *sched.Node, scores *[]int64) sched.Candidate {
	c, before := sched.Candidate{Node: node}, len(*scores)
	if pod.GPUs.Offer != nil {
		c.Surplus = pod.GPUs.Offer(node.For(pod.Claim())).Over
	}
	if p.Ranker != nil {
		*scores = p.Ranker.Score(*scores, pod, node)
	} else {
		*scores = p.rank(*scores, pod, node)
	}
	c.Score = (*scores)[before:len(*scores):len(*scores)]
	return c
}

// rank appends the score of a node to the given slice, and returns the extended slice. For the
// policies LeastFit and BestFit, the score has one number for each dimension of the profile: the
// amount that is free on the node, divided by the granularity (Theta) and rounded up. For BestFit,
// these numbers are negated, because a node with less free is better. For the other policies, rank
// appends nothing, so nodes keep the order in which the search found them.
func (p *Profile) rank(to []int64, pod *sched.Pod, node *sched.Node) []int64 {
	if p.Policy != distbucket.LeastFit && p.Policy != distbucket.BestFit {
		return to
	}
	all := p.Space.AppendNode(to, node.For(pod.Claim()))
	score := all[len(to):]
	for i, theta := range p.Theta {
		score[i] = (score[i] + theta - 1) / theta
		if p.Policy == distbucket.BestFit {
			score[i] = -score[i]
		}
	}
	return all
}
