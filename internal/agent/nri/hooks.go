package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// Synchronize is the first hook of every connection. It gets all sandboxes, including stopped
// sandboxes, and the containers that are created or running. It returns no updates, because the
// node writes the containers' cgroups directly.
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
	for _, container := range containers {
		all = append(all, asContainer(byID[container.GetPodSandboxId()], container))
	}
	p.node.Synchronize(ctx, sandboxes, all)
	p.synced()
	return nil, nil
}

// RunPodSandbox is called when the pause process already runs.
func (p *plugin) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "RunPodSandbox", podOf(pod)...)
	defer end(&err)
	return p.node.RunSandbox(ctx, asSandbox(pod))
}

// StopPodSandbox is called when the sandbox's processes have ended.
func (p *plugin) StopPodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "StopPodSandbox", podOf(pod)...)
	defer end(&err)
	p.node.StopSandbox(ctx, asSandbox(pod))
	return nil
}

// RemovePodSandbox is called when the sandbox's containers have been removed.
func (p *plugin) RemovePodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "RemovePodSandbox", podOf(pod)...)
	defer end(&err)
	p.node.RemoveSandbox(ctx, asSandbox(pod))
	return nil
}

// CreateContainer is called before the container's cgroup exists. The answer becomes part of the
// OCI spec, so the container's first instruction already runs on these CPUs. The returned updates
// are only for other containers that do not run yet, and the runtime only changes their stored
// specs. The node has already written the cgroups of running containers.
func (p *plugin) CreateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (_ *api.ContainerAdjustment, _ []*api.ContainerUpdate, err error) {
	ctx, end := p.hook(ctx, "CreateContainer", containerOf(pod, container)...)
	defer end(&err)
	answer, err := p.node.Create(ctx, asContainer(pod, container))
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

// asUpdates returns the updates of specs for the runtime. The runtime must ignore an update that
// fails, because the container may have ended.
func asUpdates(specs []workload.Spec) []*api.ContainerUpdate {
	var updates []*api.ContainerUpdate
	for _, s := range specs {
		u := &api.ContainerUpdate{ContainerId: s.ContainerID, IgnoreFailure: true}
		u.SetLinuxCPUSetCPUs(s.CPUs.String())
		updates = append(updates, u)
	}
	return updates
}

// StartContainer is called when the cgroup exists and the container's program does
// not run yet. An error prevents the start.
func (p *plugin) StartContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (err error) {
	ctx, end := p.hook(ctx, "StartContainer", containerOf(pod, container)...)
	defer end(&err)
	return p.node.Start(ctx, asContainer(pod, container))
}

// UpdateContainer is called before the runtime writes new resources of a container. The runtime
// merges the last returned update into these resources. If UpdateContainer returns an error, the
// runtime does not write them. The other returned updates are for containers that do not run yet,
// and the runtime applies them first.
func (p *plugin) UpdateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container, want *api.LinuxResources) (_ []*api.ContainerUpdate, err error) {
	ctx, end := p.hook(ctx, "UpdateContainer", containerOf(pod, container)...)
	defer end(&err)
	answer, err := p.node.Update(ctx, asContainer(pod, container), asResources(want))
	if err != nil {
		return nil, err
	}
	u := &api.ContainerUpdate{ContainerId: container.GetId()}
	set(u, answer.Decision)
	return append(asUpdates(answer.Specs), u), nil
}

// PostUpdateContainer is called after the runtime has written the new resources of a container.
func (p *plugin) PostUpdateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (err error) {
	ctx, end := p.hook(ctx, "PostUpdateContainer", containerOf(pod, container)...)
	defer end(&err)
	return p.node.Updated(ctx, asContainer(pod, container))
}

// RemoveContainer is called when an exited container is removed, and when the creation of a
// container has failed. The plugin does not use the hook StopContainer, because in some runtimes
// the container's processes may still run after that hook.
func (p *plugin) RemoveContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (err error) {
	_, end := p.hook(ctx, "RemoveContainer", containerOf(pod, container)...)
	defer end(&err)
	p.node.Remove(asContainer(pod, container))
	return nil
}
