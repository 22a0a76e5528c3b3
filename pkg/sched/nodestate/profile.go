package nodestate

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// Profile is a way to look for nodes: the administrator's.
type Profile struct {
	Name   string       // pods name it; the first profile is the default
	Space  filter.Space // the dimensions, most important first
	Theta  []int64      // granularity of each; nil is 1 everywhere
	Policy distbucket.Policy
	// Wide is how many candidates a first list has; 0 means 4. More than one, so
	// that a conflict costs another look at a list and not another look for nodes.
	Wide int
	// Look is how many nodes are scored for a first list; 0 means as many as it
	// has. More only make sense with a Score.
	Look int
	// Score ranks what the policy found; nil ranks as the policy does.
	Score sched.Scorer
}

// DefaultWide is the length of a first list where the profile names none.
const DefaultWide = 4

// complete returns the profile with its defaults, or what is wrong with it.
func (p Profile) complete() (Profile, error) {
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
	if p.Wide <= 0 {
		p.Wide = DefaultWide
	}
	p.Look = max(p.Look, p.Wide)
	if p.Score == nil {
		p.Score = p.rank
	}
	p.Score = offered(p.Score)
	return p, nil
}

// offered scores nodes first by how many more cards than asked for a pod is offered
// there, for pods to which that matters: larger groups of cards stay whole.
func offered(score sched.Scorer) sched.Scorer {
	return func(to []int64, pod *sched.Pod, node *sched.Node) []int64 {
		if pod.GPUs.Offer != nil {
			over := pod.GPUs.Offer(node.For(pod.UID)).Over
			to = append(to, -int64(over))
		}
		return score(to, pod, node)
	}
}

// rank scores a node as the policy ranks it: by its coordinates for LeastFit and
// BestFit, and not at all for the others, whose order is the one of finding.
func (p Profile) rank(to []int64, pod *sched.Pod, node *sched.Node) []int64 {
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
