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

// gpus is the node's GPUs. It is nil without --gpu-socket: Numalet then hands out none.
type gpus struct {
	client  *gpufeed.Client
	present bool // the kernel listed a GPU when the agent started
	// unhealthy has the GPUs that the last inventory had as unhealthy, by ID.
	unhealthy map[string]bool
}

// newGPUs returns the node's GPUs. The kernel's list counts beside that of numalet-nvml,
// which may start later than the first containers. If it cannot be read, there may be
// GPUs, and containers without any must not see them.
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

// parts returns the functions to run.
func (g *gpus) parts() []func(context.Context) error {
	if g == nil {
		return nil
	}
	return []func(context.Context) error{g.client.Run}
}

// latest returns the inventory that numalet-nvml reported last.
func (g *gpus) latest() *gpu.Inventory { return g.client.Latest() }

// any reports whether the node has GPUs that Numalet hands out.
func (g *gpus) any() bool { return g != nil && (g.present || len(g.latest().GPUs) > 0) }

// groupOf returns the group that reserves a GPU of this node, or a slice or share of it,
// and whether the groups are known.
func (a *agent) groupOf(id string) (group string, known bool) {
	if a.cluster == nil || a.gpus == nil {
		return "", true
	}
	return a.cluster.groups.Reserved(a.cfg.NodeName, a.gpus.latest(), id)
}
