package commands

import (
	"fmt"
	"math"

	"github.com/numalet/numalet/lab/fragmentation"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// fragmentationAware is the policy that only the simulator has. It needs a sample of the
// future workload, which a controller does not have.
const fragmentationAware = "fragmentation"

// canonical replaces the old name "default".
func canonical(policy string) string {
	if policy == "default" {
		return fragmentationAware
	}
	return policy
}

// inController reports whether a profile of the controller can have the policy.
func inController(policy string) bool { return policy != fragmentationAware }

// policies returns the policies that choose equally each time.
func policies() []string {
	return []string{"leastfit", "bestfit", "firstfit", "nextfit", fragmentationAware}
}

// gpuProfile returns the profile for GPU clusters with a policy. fragmentationAware scores
// all nodes that fit. It chooses the node on which the placement makes the least GPU
// capacity unusable for the workload; pods are a sample of it.
func gpuProfile(policy string, pods []*sched.Pod) (filter.Profile, error) {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,cpu,memory")
	if err != nil {
		return filter.Profile{}, err
	}
	policy = canonical(policy)
	p := filter.Profile{Name: policy, Space: space, Policy: distbucket.BestFit, Candidates: 1}
	if policy == fragmentationAware {
		p.Scored, p.Scorer = math.MaxInt, fragmentation.NewScorer(fragmentation.Of(pods)).Score
		return p, nil
	}
	if p.Policy, err = distbucket.ParsePolicy(policy); err != nil {
		return filter.Profile{}, fmt.Errorf("%w, or %s", err, fragmentationAware)
	}
	return p, nil
}
