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
// workload to come, which a controller does not have.
const fragmentationAware = "fragmentation"

// canonical returns the name of a policy, which may be given as "default".
func canonical(policy string) string {
	if policy == "default" {
		return fragmentationAware
	}
	return policy
}

// inController returns whether a profile of the controller can have the policy.
func inController(policy string) bool { return policy != fragmentationAware }

// gpuProfile returns the profile for clusters of GPUs with a policy. The
// fragmentation-aware one looks at all nodes that fit, and takes the one on which a
// placement makes the least capacity useless to the workload of which pods are a sample.
func gpuProfile(policy string, pods []*sched.Pod) (filter.Profile, error) {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,cpu,memory")
	if err != nil {
		return filter.Profile{}, err
	}
	policy = canonical(policy)
	p := filter.Profile{Name: policy, Space: space, Policy: distbucket.BestFit, Wide: 1}
	if policy == fragmentationAware {
		p.Look, p.Scorer = math.MaxInt, fragmentation.NewScorer(fragmentation.Of(pods)).Score
		return p, nil
	}
	if p.Policy, err = distbucket.ParsePolicy(policy); err != nil {
		return filter.Profile{}, fmt.Errorf("%w, or %s", err, fragmentationAware)
	}
	return p, nil
}
