package filter

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// Profile is an administrator's scheduling profile: how nodes are searched and scored.
type Profile struct {
	Name   string  // pods refer to it; the first profile is the default
	Space  Space   // the dimensions, most important first
	Theta  []int64 // granularity of each dimension; nil means 1 for all
	Policy distbucket.Policy
	// Candidates is the length of a first list; 0 means 4. With several candidates, a
	// conflict costs a check of the next one instead of another search.
	Candidates int
	// Ranker, if not nil, replaces the order of the policy by its own. Each profile has its own
	// Ranker.
	Ranker *fragmentation.Ranker
}

// DefaultCandidates is the length of a first list if the profile sets none.
const DefaultCandidates = 4

// Complete returns the profile with its defaults, or an error if it is invalid.
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

// Try returns a node as a candidate for a pod, or the reason why the pod does not fit.
// also is the filters of another system, which come after those of this package; nil for
// none. The score is appended to *scores, so that all scores of a list share one
// allocation.
//
// The candidate has no placement yet if the placement may change although the record does not,
// because the pod has an Offer, or if choosing between several GPUs would cost more than everything
// else. Only one candidate of a list needs a placement.
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

// Rate returns a node with its surplus and its score for a pod that fits it. The score is
// appended to *scores.
func (p *Profile) Rate(pod *sched.Pod, node *sched.Node, scores *[]int64) sched.Candidate {
	c, before := sched.Candidate{Node: node}, len(*scores)
	if pod.GPUs.Offer != nil {
		c.Surplus = pod.GPUs.Offer(node.For(pod.UID)).Over
	}
	if p.Ranker != nil {
		*scores = p.Ranker.Score(*scores, pod, node)
	} else {
		*scores = p.rank(*scores, pod, node)
	}
	c.Score = (*scores)[before:len(*scores):len(*scores)]
	return c
}

// rank scores a node by its coordinates for LeastFit and BestFit. For the other
// policies it appends no score, so nodes keep the order of the search.
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
