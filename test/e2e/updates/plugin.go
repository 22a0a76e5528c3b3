package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/api"
)

// none is printed instead of a CPU set if no container was moved.
const none = "none"

// plugin has one method for each NRI hook that it handles. The NRI library (stub) finds the hooks
// by the interfaces that plugin implements.
type plugin struct {
	pod string // name of the pod whose containers are moved
	mu  struct {
		sync.Mutex
		out      io.Writer
		members  []string // IDs of the pod's containers that exist when the plugin starts
		cpus     []string // the remaining CPU sets; when the next container is created, the plugin moves the pod's containers to the first of them
		answered map[string]answer
	}
}

// answer is the plugin's response to the creation of a container, and when it was sent.
type answer struct {
	at    time.Time
	moved int
	cpus  string
}

func newPlugin(pod string, cpus []string, out io.Writer) *plugin {
	p := &plugin{pod: pod}
	p.mu.out, p.mu.cpus, p.mu.answered = out, cpus, map[string]answer{}
	return p
}

func (p *plugin) Synchronize(_ context.Context, pods []*api.PodSandbox, containers []*api.Container) ([]*api.ContainerUpdate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ours := map[string]bool{}
	for _, pod := range pods {
		ours[pod.GetId()] = pod.GetName() == p.pod
	}
	for _, container := range containers {
		if ours[container.GetPodSandboxId()] {
			p.mu.members = append(p.mu.members, container.GetId())
		}
	}
	_, err := fmt.Fprintln(p.mu.out, "synchronized", len(p.mu.members))
	return nil, err
}

func (p *plugin) CreateContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	if pod.GetName() == p.pod {
		return nil, nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	cpus := none
	var updates []*api.ContainerUpdate
	if len(p.mu.cpus) > 0 {
		cpus, p.mu.cpus = p.mu.cpus[0], p.mu.cpus[1:]
		updates = move(p.mu.members, cpus)
	}
	p.mu.answered[container.GetId()] = answer{time.Now(), len(updates), cpus}
	return nil, updates, nil
}

func move(containers []string, cpus string) []*api.ContainerUpdate {
	var updates []*api.ContainerUpdate
	for _, id := range containers {
		u := &api.ContainerUpdate{ContainerId: id}
		u.SetLinuxCPUSetCPUs(cpus)
		updates = append(updates, u)
	}
	return updates
}

// PostCreateContainer is called after the runtime has carried out the container updates of the
// plugin's response and then created the container.
func (p *plugin) PostCreateContainer(_ context.Context, _ *api.PodSandbox, container *api.Container) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.mu.answered[container.GetId()]
	if !ok {
		return nil
	}
	delete(p.mu.answered, container.GetId())
	_, err := fmt.Fprintln(p.mu.out, "created", time.Since(a.at).Nanoseconds(), a.moved, a.cpus)
	return err
}
