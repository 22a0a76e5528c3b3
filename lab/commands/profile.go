package commands

import (
	"fmt"
	"math"

	"github.com/numalet/numalet/lab/fragmentation"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// defaultPolicy is the name of what the GPU profile uses.
const defaultPolicy = "default"

// gpuProfile returns the profile for clusters of GPUs, with another policy unless
// it is the default one. The default one looks at all nodes that fit, and takes
// the one on which least becomes useless to the workload of which pods are a
// sample.
func gpuProfile(policy string, pods []*sched.Pod) (nodestate.Profile, error) {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,cpu,memory")
	if err != nil {
		return nodestate.Profile{}, err
	}
	p := nodestate.Profile{Name: policy, Space: space, Policy: distbucket.BestFit, Wide: 1}
	if policy == defaultPolicy {
		p.Look, p.Score = math.MaxInt, fragmentation.NewScorer(fragmentation.Of(pods)).Score
		return p, nil
	}
	if p.Policy, err = distbucket.ParsePolicy(policy); err != nil {
		return nodestate.Profile{}, fmt.Errorf("%w, or %s", err, defaultPolicy)
	}
	return p, nil
}
