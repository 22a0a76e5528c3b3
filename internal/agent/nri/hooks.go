package nri

import (
	"context"
	"fmt"

	"github.com/containerd/nri/pkg/api"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// Synchronize is the first hook that the container runtime calls on every connection. It gets all
// sandboxes, including stopped sandboxes, and the containers that are created or running. It
// returns no updates of containers, because p.node writes their cgroups directly.
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

// RunPodSandbox is called when the pause process of a new sandbox already runs.
func (p *plugin) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "RunPodSandbox", podOf(pod)...)
	defer end(&err)
	return p.node.RunSandbox(ctx, asSandbox(pod))
}

// StopPodSandbox is called when the processes of a sandbox have ended.
func (p *plugin) StopPodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "StopPodSandbox", podOf(pod)...)
	defer end(&err)
	p.node.StopSandbox(ctx, asSandbox(pod))
	return nil
}

// RemovePodSandbox is called when the containers of a sandbox have been removed.
func (p *plugin) RemovePodSandbox(ctx context.Context, pod *api.PodSandbox) (err error) {
	ctx, end := p.hook(ctx, "RemovePodSandbox", podOf(pod)...)
	defer end(&err)
	p.node.RemoveSandbox(ctx, asSandbox(pod))
	return nil
}

// CreateContainer is called before the container's cgroup exists. The returned adjustment becomes
// part of the container's OCI spec, so the first instruction of the container already runs on the
// CPUs in the adjustment. If the adjustment has no CPUs, the cgroup of a QoS class already limits
// the container. The returned updates are for other containers, which do not run yet. For
// these containers, the container runtime changes only the stored specs. The updates contain no
// running containers, because p.node has already written their cgroups.
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

// asUpdates converts new specs of containers to updates for the container runtime. An update
// tells the runtime to ignore a failure, because the container may have ended.
func asUpdates(specs []workload.Spec) []*api.ContainerUpdate {
	var updates []*api.ContainerUpdate
	for _, s := range specs {
		u := &api.ContainerUpdate{ContainerId: s.ContainerID, IgnoreFailure: true}
		u.SetLinuxCPUSetCPUs(s.CPUs.String())
		updates = append(updates, u)
	}
	return updates
}

// StartContainer is called when the container's cgroup exists, but the container's program does not
// run yet. The only process in the cgroup is that of the OCI runtime, which waits for the start. If
// StartContainer returns an error, the container does not start. With CRI-O, this is so only
// because of preventStart.
func (p *plugin) StartContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (err error) {
	defer p.preventStart(pod, container, &err) // runs after `end`, which turns a panic into an error
	ctx, end := p.hook(ctx, "StartContainer", containerOf(pod, container)...)
	defer end(&err)
	return p.node.Start(ctx, asContainer(pod, container))
}

// preventStart ends the process of the OCI runtime in a container's cgroup if `err` has an error of
// StartContainer and the container runtime ignores such an error. Without this process, the start of
// the container fails.
func (p *plugin) preventStart(pod *api.PodSandbox, container *api.Container, err *error) {
	if *err == nil || !p.mustKill.Load() {
		return
	}
	if failed := p.cgroups.Kill(asContainer(pod, container).Cgroup); failed != nil {
		p.log.Error(failed, "a container may start although its start was refused", append(containerOf(pod, container), "refusal", (*err).Error())...)
		*err = fmt.Errorf("%w; the container may start nevertheless: %w", *err, failed)
	}
}

// UpdateContainer is called before the container runtime writes new resources of a container. The
// last of the returned updates is for this container, and the runtime merges it into these
// resources. There is no such update if Node.Update returns no CPUs, because the cgroup of a QoS
// class then limits the container. The other returned updates are for other containers, which do
// not run yet, and the runtime applies them first. If UpdateContainer returns an error, the runtime
// does not write the new resources.
func (p *plugin) UpdateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container, want *api.LinuxResources) (_ []*api.ContainerUpdate, err error) {
	ctx, end := p.hook(ctx, "UpdateContainer", containerOf(pod, container)...)
	defer end(&err)
	answer, err := p.node.Update(ctx, asContainer(pod, container), asResources(want))
	if err != nil {
		return nil, err
	}
	updates := asUpdates(answer.Specs)
	if answer.CPUs.Empty() { // the runtime would use an update without resources as the new resources
		return updates, nil
	}
	u := &api.ContainerUpdate{ContainerId: container.GetId()}
	set(u, answer.Decision)
	return append(updates, u), nil
}

// PostUpdateContainer is called after the container runtime has written new resources of a
// container.
func (p *plugin) PostUpdateContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (err error) {
	ctx, end := p.hook(ctx, "PostUpdateContainer", containerOf(pod, container)...)
	defer end(&err)
	return p.node.Updated(ctx, asContainer(pod, container))
}

// RemoveContainer is called when the container runtime removes an exited container. containerd also
// calls it when the creation of a container has failed. The plugin does not use the hook
// StopContainer, because some runtimes call StopContainer while the container's processes still
// run.
func (p *plugin) RemoveContainer(ctx context.Context, pod *api.PodSandbox, container *api.Container) (err error) {
	_, end := p.hook(ctx, "RemoveContainer", containerOf(pod, container)...)
	defer end(&err)
	p.node.Remove(asContainer(pod, container))
	return nil
}
