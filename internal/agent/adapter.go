package agent

import (
	"context"

	"github.com/numalet/numalet/internal/agent/cgroup/direct"
	"github.com/numalet/numalet/internal/agent/node/metrics"
	"github.com/numalet/numalet/internal/agent/nri"
	"github.com/numalet/numalet/internal/platform/config"
)

// adapter is how the agent learns of containers and places them.
type adapter interface {
	Run(ctx context.Context) error
	Ready() error
}

// newAdapter sets the way that --enforce names: the runtime's hooks, or cgroups
// written after the start.
func (a *agent) newAdapter(measured *metrics.Metrics) {
	if a.cfg.Enforce != config.Cgroup {
		a.runtime = nri.New(nri.Options{Socket: a.cfg.NRISocket, Node: a.node, Log: a.log, Observe: measured.Hook})
		return
	}
	a.log.Info("containers are placed after their start, and none can be refused: use NRI where the runtime has it", "enforce", a.cfg.Enforce)
	watcher := direct.New(direct.Options{Cgroups: a.cgroups, Pods: a.pods, Node: a.node})
	a.runtime, a.poke = watcher, watcher.Notify
}
