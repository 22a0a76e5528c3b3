package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"
)

// RunPodSandbox comes when the pause process runs already.
func (p *plugin) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "RunPodSandbox", podOf(pod)...)
	defer end(&err)
	return p.node.RunSandbox(ctx, asSandbox(pod))
}

// StopPodSandbox comes when the sandbox's processes have ended.
func (p *plugin) StopPodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "StopPodSandbox", podOf(pod)...)
	defer end(&err)
	p.node.StopSandbox(ctx, asSandbox(pod))
	return nil
}

// RemovePodSandbox comes when the sandbox's containers are removed.
func (p *plugin) RemovePodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "RemovePodSandbox", podOf(pod)...)
	defer end(&err)
	p.node.RemoveSandbox(ctx, asSandbox(pod))
	return nil
}
