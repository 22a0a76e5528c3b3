package main

import (
	"fmt"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
	"github.com/numalet/numalet/pkg/sched/center"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// defaultPolicy is the name of what the GPU profile uses.
const defaultPolicy = "default"

// gpuProfile returns the profile for clusters of GPUs, with another policy unless
// it is the default one.
func gpuProfile(policy string, _ []*sched.Pod) (center.Profile, error) {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,cpu,memory")
	if err != nil {
		return center.Profile{}, err
	}
	p := center.Profile{Name: policy, Space: space, Policy: bucket.BestFit, Wide: 1}
	if policy == defaultPolicy {
		return p, nil
	}
	if p.Policy, err = bucket.ParsePolicy(policy); err != nil {
		return center.Profile{}, fmt.Errorf("%w, or %s", err, defaultPolicy)
	}
	return p, nil
}
