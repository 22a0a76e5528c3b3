package commands

import (
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// fragmentationAware is the policy that packs GPUs best. Its other name is default.
const fragmentationAware = "fragmentation"

// canonical replaces the old name "default".
func canonical(policy string) string {
	if policy == "default" {
		return fragmentationAware
	}
	return policy
}

// policies returns the policies that choose equally each time.
func policies() []string {
	return []string{"leastfit", "bestfit", "firstfit", "nextfit", fragmentationAware}
}

// gpuProfile returns the controller's profile for GPU clusters with a policy. Pods arrive in order
// and without time between them. No policy knows a pod before it arrives.
func gpuProfile(policy string) (filter.Profile, error) {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,cpu,memory")
	if err != nil {
		return filter.Profile{}, err
	}
	var chosen filter.NodePolicy
	if err := chosen.UnmarshalText([]byte(canonical(policy))); err != nil {
		return filter.Profile{}, err
	}
	return chosen.Apply(filter.Profile{Name: canonical(policy), Space: space, Candidates: 1}, fragmentation.Options{}), nil
}
