package main

import (
	"fmt"
	"math"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
	"github.com/numalet/numalet/pkg/sched/center"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/frag"
)

// defaultPolicy is the name of what the GPU profile uses.
const defaultPolicy = "default"

// gpuProfile returns the profile for clusters of GPUs, with another policy unless
// it is the default one. The default one looks at all nodes that fit, and takes
// the one on which least becomes useless to the workload of which pods are a
// sample.
func gpuProfile(policy string, pods []*sched.Pod) (center.Profile, error) {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,cpu,memory")
	if err != nil {
		return center.Profile{}, err
	}
	p := center.Profile{Name: policy, Space: space, Policy: bucket.BestFit, Wide: 1}
	if policy == defaultPolicy {
		p.Look, p.Score = math.MaxInt, frag.NewScorer(frag.Of(pods)).Score
		return p, nil
	}
	if p.Policy, err = bucket.ParsePolicy(policy); err != nil {
		return center.Profile{}, fmt.Errorf("%w, or %s", err, defaultPolicy)
	}
	return p, nil
}
