package commands

import (
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
)

// fragmentationAware is the name of a node selection policy. The policy tries to leave little free
// GPU capacity that later pods cannot use. Its old name is "default".
const fragmentationAware = "fragmentation"

// canonical returns the name of a policy. It replaces the old name "default" with "fragmentation".
func canonical(policy string) string {
	if policy == "default" {
		return fragmentationAware
	}
	return policy
}

// policies returns the names of the deterministic policies, which choose the same nodes in each
// run.
func policies() []string {
	return []string{"leastfit", "bestfit", "firstfit", "nextfit", fragmentationAware}
}

// gpuProfile returns the controller's scheduling profile for GPU clusters, with the given node
// selection policy. A policy selects a node without knowledge of the later pods of the trace.
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
