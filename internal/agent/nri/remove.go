package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"
)

// RemoveContainer comes when an exited container is forgotten, and when a
// creation failed. StopContainer is not asked for: on some runtimes the
// processes outlive it, so it ends nothing.
func (p *plugin) RemoveContainer(ctx context.Context, pod *api.PodSandbox, c *api.Container) (err error) {
	_, end := p.hook(ctx, "RemoveContainer", containerOf(pod, c)...)
	defer end(&err)
	p.node.Remove(asContainer(pod, c))
	return nil
}
