package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"
)

// CreateContainer comes before the container's cgroup exists: what is answered
// stands in its spec, and its first instruction runs on those CPUs.
func (p *plugin) CreateContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container) (_ *api.ContainerAdjustment, _ []*api.ContainerUpdate, err error) {
	ctx, end := p.hook(ctx, "CreateContainer", containerOf(pod, c)...)
	defer end(&err)
	d, err := p.node.Create(ctx, asContainer(pod, c))
	if err != nil {
		return nil, nil, err
	}
	adjust := &api.ContainerAdjustment{}
	set(adjust, d)
	return adjust, nil, nil
}
