package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"
)

// UpdateContainer comes before the runtime writes new resources; the answer is
// merged into them.
func (p *plugin) UpdateContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container, want *api.LinuxResources) (_ []*api.ContainerUpdate, err error) {
	ctx, end := p.hook(ctx, "UpdateContainer", containerOf(pod, c)...)
	defer end(&err)
	d, err := p.node.Update(ctx, asContainer(pod, c), asResources(want))
	if err != nil {
		return nil, err
	}
	u := &api.ContainerUpdate{ContainerId: c.GetId()}
	set(u, d)
	return []*api.ContainerUpdate{u}, nil
}

// PostUpdateContainer comes after the runtime wrote them.
func (p *plugin) PostUpdateContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container) (err error) {
	ctx, end := p.hook(ctx, "PostUpdateContainer", containerOf(pod, c)...)
	defer end(&err)
	return p.node.Updated(ctx, asContainer(pod, c))
}
