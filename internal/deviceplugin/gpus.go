package deviceplugin

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// afterAllocate is the time between a call of Allocate that changes which devices are healthy, and the
// next list of devices. The publisher asks the kubelet for its pods before it lists devices. If the
// kubelet answers while Allocate is in progress, it may later count the allocated devices as free.
// Source: https://github.com/kubernetes/kubernetes/pull/137534
const afterAllocate = 100 * time.Millisecond

// gpuPublisher receives the node's GPUs from numalet-nvml and lists them for the
// kubelet.
type gpuPublisher struct {
	client  *gpufeed.Client
	source  *kubelet.GPUs
	pods    *nodeapi.Pods   // nil if gpuPublisher does not need this node's pods
	groups  *nodeapi.Groups // nil without a controller
	changed func()          // is called when the devices may have changed; must be set before any function in the result of the method `parts` is called
}

func newGPUPublisher(cfg config.DevicePlugin, log logr.Logger) (*gpuPublisher, error) {
	g := &gpuPublisher{}
	if err := g.watchPods(cfg); err != nil {
		return nil, err
	}
	changed := func() { g.changed() }
	g.client = gpufeed.NewClient(gpufeed.Options{Socket: cfg.GPUSocket, Timeout: gpufeed.DefaultTimeout, Changed: changed, Log: log})
	g.source = kubelet.NewGPUs(kubelet.GPUOptions{
		Latest: g.client.Latest, Resource: cfg.GPUResource, Shares: cfg.GPUShares,
		HandOver: kubelet.HandOver{CDIKind: cfg.CDIKind, MPSDir: cfg.GPUMPSDir}, Now: time.Now,
		Changed: func() { time.AfterFunc(afterAllocate, changed) },
	})
	if g.pods != nil {
		g.source.Pods = func() ([]*corev1.Pod, bool) { return g.pods.All(), g.pods.HasSynced() }
	}
	if cfg.DecidedGPUs() {
		if err := g.watchGroups(cfg); err != nil {
			return nil, err
		}
		g.source.Decider = kubelet.NewDecider(g.pods, cfg.KubeletDir, log)
	}
	return g, nil
}

// watchPods sets g.pods if the device plugin needs to know this node's pods. It needs them if the
// controller decides which GPUs pods get. It also needs them if a GPU can be allocated either as a
// whole or in shares. No container may then get a share of a GPU that another container has as a
// whole, or a whole GPU of which another container has a share. So the device plugin must know
// which GPUs containers have. The kubelet lists these GPUs, except those of init containers. So a
// GPU that was allocated to an init container counts as in use until the device plugin sees that
// the pod has ended.
func (g *gpuPublisher) watchPods(cfg config.DevicePlugin) error {
	if !cfg.WatchesPods() {
		return nil
	}
	client, err := nodeapi.NewClient(cfg.Kubeconfig)
	if err != nil {
		return err
	}
	g.pods, err = nodeapi.NewPods(client, cfg.NodeName, nodeapi.Handlers{})
	return err
}

// watchGroups sets g.groups, which watches the GPU groups. The controller decides which pods get
// the GPUs of a group (GPUGroup), and no shares of these GPUs are allocated. Until the groups are
// known, every GPU is treated as a GPU of a group.
func (g *gpuPublisher) watchGroups(cfg config.DevicePlugin) error {
	resources, err := nodeapi.NewResources(cfg.Kubeconfig)
	if err != nil {
		return err
	}
	if g.groups, err = nodeapi.NewGroups(resources); err != nil {
		return err
	}
	g.source.Reserved = func(gpu string) bool {
		group, known := g.groups.Reserved(cfg.NodeName, g.client.Latest(), gpu)
		return group != "" || !known
	}
	return nil
}

// parts returns the functions that must run until the program ends.
func (g *gpuPublisher) parts() []func(context.Context) error {
	parts := []func(context.Context) error{g.client.Run}
	if g.pods != nil {
		parts = append(parts, g.pods.Run)
	}
	if g.groups != nil {
		parts = append(parts, g.groups.Run, g.listWhenGroupsAreKnown)
	}
	return parts
}

// listWhenGroupsAreKnown makes the kubelet get a new list of devices once the GPU groups are known.
// Until then, all shares of GPUs are unhealthy, and the kubelet fails pods that request them.
func (g *gpuPublisher) listWhenGroupsAreKnown(ctx context.Context) error {
	if g.groups.WaitForSync(ctx) == nil {
		g.changed()
	}
	return nil
}

// checks returns the readiness checks of the GPUs and, if the device plugin watches this node's
// pods, of the pods.
func (g *gpuPublisher) checks() []telemetry.Check {
	all := []telemetry.Check{{Name: "GPUs", Ready: g.client.Ready}}
	if g.pods == nil {
		return all
	}
	return append(all, telemetry.Check{Name: "pods of this node", Ready: func() error {
		if !g.pods.HasSynced() {
			return errors.New("the API server has not listed the pods of this node yet")
		}
		return nil
	}})
}
