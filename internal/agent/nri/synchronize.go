package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"

	"github.com/numalet/numalet/pkg/workload"
)

// Synchronize is the first hook of every connection: the sandboxes, stopped
// ones too, and the containers that are created or running. Everything is
// asserted by direct writes, so no updates are returned.
func (p *plugin) Synchronize(ctx context.Context, pods []*api.PodSandbox, containers []*api.Container) (_ []*api.ContainerUpdate, err error) {
	ctx, end := p.hook(ctx, "Synchronize", "sandboxes", len(pods), "containers", len(containers))
	defer end(&err)
	byID := map[string]*api.PodSandbox{}
	var sandboxes []workload.Sandbox
	for _, pod := range pods {
		byID[pod.GetId()] = pod
		sandboxes = append(sandboxes, asSandbox(pod))
	}
	var all []workload.Container
	for _, c := range containers {
		all = append(all, asContainer(byID[c.GetPodSandboxId()], c))
	}
	p.node.Synchronize(ctx, sandboxes, all)
	p.synced()
	return nil, nil
}
