package agent

import (
	"context"
	"os"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/pci"
)

// gpus is the node's GPUs. Without the flag --gpu-socket, gpus is nil, because Numalet then assigns
// no GPUs to containers.
type gpus struct {
	client  *gpufeed.Client
	present bool // the kernel listed a GPU when the agent started, or its list could not be read
	// unhealthy has the IDs of the GPUs that were unhealthy in the last inventory from
	// numalet-nvml.
	unhealthy map[string]bool
}

// newGPUs returns the node's GPUs. The program numalet-nvml, which reports them, may start later
// than the first containers. So newGPUs first looks for GPUs in the kernel's list of PCI devices.
// If newGPUs cannot read that list, it assumes that the node has GPUs. The agent then hides all
// GPUs from containers that were allocated none.
func newGPUs(cfg config.Agent, changed func(), log logr.Logger) *gpus {
	if cfg.GPUSocket == "" {
		return nil
	}
	listed, err := pci.Discover(os.DirFS(cfg.SysfsRoot))
	if err != nil {
		log.Error(err, "cannot list the GPUs of this machine; containers without GPUs get NVIDIA_VISIBLE_DEVICES=void")
	}
	client := gpufeed.NewClient(gpufeed.Options{Socket: cfg.GPUSocket, Timeout: gpufeed.DefaultTimeout, Changed: changed, Log: log})
	return &gpus{client: client, present: err != nil || len(listed.GPUs) > 0}
}

// parts returns the functions that a.run runs for the GPUs.
func (g *gpus) parts() []func(context.Context) error {
	if g == nil {
		return nil
	}
	return []func(context.Context) error{g.client.Run}
}

// latest returns the inventory that numalet-nvml reported last.
func (g *gpus) latest() *gpu.Inventory { return g.client.Latest() }

// The method `any` reports whether the node has GPUs that Numalet assigns to containers.
func (g *gpus) any() bool { return g != nil && (g.present || len(g.latest().GPUs) > 0) }

// groupOf returns the GPU group that reserves the device with this ID. The device is a GPU of this
// node, or a MIG slice or share of a GPU. If no GPU group reserves the device, the result `group`
// is "". The result `known` is false as long as the agent has not read the GPU groups from the API
// server.
func (a *agent) groupOf(id string) (group string, known bool) {
	if a.cluster == nil || a.gpus == nil {
		return "", true
	}
	return a.cluster.groups.Reserved(a.cfg.NodeName, a.gpus.latest(), id)
}
