package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"
)

// StartContainer comes when the cgroup exists and the container's own program
// does not run yet. An error keeps it from running.
func (p *plugin) StartContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container) (err error) {
	ctx, end := p.hook(ctx, "StartContainer", containerOf(pod, c)...)
	defer end(&err)
	return p.node.Start(ctx, asContainer(pod, c))
}
