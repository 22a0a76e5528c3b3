package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// CreateContainer comes before the container's cgroup exists: what is answered
// stands in its spec, and its first instruction runs on those CPUs. Updates
// are returned only for containers that do not run yet, of which the runtime
// then changes nothing but the stored spec; running ones were written directly.
func (p *plugin) CreateContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container) (_ *api.ContainerAdjustment, _ []*api.ContainerUpdate, err error) {
	ctx, end := p.hook(ctx, "CreateContainer", containerOf(pod, c)...)
	defer end(&err)
	answer, err := p.node.Create(ctx, asContainer(pod, c))
	if err != nil {
		return nil, nil, err
	}
	adjust := &api.ContainerAdjustment{}
	set(adjust, answer.Decision)
	if answer.GPUs != "" {
		adjust.AddEnv(v1alpha1.EnvGPUs, answer.GPUs)
	}
	return adjust, asUpdates(answer.Specs), nil
}

// asUpdates may fail: of a container that ended, or is being removed.
func asUpdates(specs []workload.Spec) []*api.ContainerUpdate {
	var updates []*api.ContainerUpdate
	for _, s := range specs {
		u := &api.ContainerUpdate{ContainerId: s.ContainerID, IgnoreFailure: true}
		u.SetLinuxCPUSetCPUs(s.CPUs.String())
		updates = append(updates, u)
	}
	return updates
}
