package filter

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// Profile is a scheduling profile that an administrator configures. It says how nodes are searched
// and scored.
type Profile struct {
	Name   string  // pods name their profile; the first profile is the default
	Space  Space   // the dimensions of the index, most important first
	Theta  []int64 // granularity of each dimension; nil means 1 for all
	Policy distbucket.Policy
	// Candidates is how many nodes a proposer lists for a pod; 0 means 4. If other pods have taken the
	// first of several listed nodes, the committer checks the next one, and no other search is needed.
	Candidates int
	// Ranker, if not nil, replaces the order of the policy by its own. Each profile has its own
	// Ranker.
	Ranker *fragmentation.Ranker
}

// DefaultCandidates is how many nodes a proposer lists for a pod if the profile does not say it.
const DefaultCandidates = 4

// Complete returns the profile with defaults for fields that are not set, or an error if the
// profile is invalid.
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

// Rank notifies the ranker, if there is one, of a new or changed node.
func (p *Profile) Rank(slot *sched.Slot, record *sched.Node) {
	if p.Ranker != nil {
		p.Ranker.Set(slot, record)
	}
}

// Unrank notifies the ranker that a node was removed.
func (p *Profile) Unrank(name string) {
	if p.Ranker != nil {
		p.Ranker.Remove(name)
	}
}

// Try returns a node as a candidate for a pod, or the reason why the pod does not fit. also has
// additional filters of another system, such as kube-scheduler's, or is nil. They are called after
// those of this package. The score is appended to *scores, so that all scores of a list share one
// allocation.
//
// In two cases the candidate has no placement yet. If the pod has an Offer of a GPU group, its
// placement may change although the node's record does not. If the pod requests several GPUs, to
// choose them would take more time than everything else, and only one candidate of a list needs a
// placement.
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

// Rate returns a node that fits a pod as a candidate, with its surplus and its score. The score is
// appended to *scores.
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

// rank appends the score of a node. For the policies LeastFit and BestFit, this is computed from
// the node's coordinates. For the other policies it appends nothing, so nodes keep the order of the
// search.
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
