package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/agent/cgroup/direct"
	"github.com/numalet/numalet/internal/agent/node/metrics"
	"github.com/numalet/numalet/internal/agent/nri"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// podsTimeout is how long the agent waits for the API server's list of the node's pods. After that
// time, the agent connects to the container runtime without the list, because pods without
// exclusive CPUs must start even while the API server is unavailable. The agent refuses new pods
// that request exclusive CPUs until it has the list.
const podsTimeout = 5 * time.Second

// run runs all parts of the agent until ctx ends or one part returns an error. It then ends all
// parts, and returns when they have ended.
func (a *agent) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(logr.NewContext(ctx, a.log))
	defer stop()
	parts := []func(context.Context) error{
		a.health.Run, a.pods.Run, a.node.Run, a.reconcileWhenListed, a.serveRuntime, a.callSystemd, a.mark, a.untaint, a.watchCPUs, a.kubelet.run,
		a.foreign.Run, a.isolation.Run, a.confinement.Run, a.gpuHealth.run,
	}
	parts = append(parts, a.cluster.parts()...)
	parts = append(parts, a.gpus.parts()...)
	if a.metrics != nil {
		parts = append(parts, a.metrics.Run)
	}
	if a.holders != nil {
		parts = append(parts, a.holders.run)
	}
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			if errs[i] = part(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	wg.Wait()
	a.log.Info("ended; pods stay pinned")
	return errors.Join(errs...)
}

// serveRuntime waits for the API server's list of the node's pods, for up to podsTimeout. It then
// runs a.runtime, which pins containers. If the container runtime is not supported, serveRuntime
// waits until ctx ends, so that the agent keeps running and /readyz reports the reason.
func (a *agent) serveRuntime(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, podsTimeout)
	defer cancel()
	if err := a.pods.WaitForSync(wait); err != nil && ctx.Err() == nil {
		a.log.Error(err, "serving the container runtime without a list of pods; pods that request exclusive CPUs are refused until the API server is available")
	}
	err := a.runtime.Run(ctx)
	if !errors.Is(err, nri.ErrUnsupported) {
		return err
	}
	a.log.Error(err, "no container is pinned on this node; removing the label of the node")
	<-ctx.Done()
	return nil
}

// retryEvery is the time between two attempts of callSystemd to send changes to systemd, and the
// time limit of each attempt. It is also the time after which gpuCondition.run tries again after a
// failure.
const retryEvery = 5 * time.Second

// callSystemd sends systemd the changes that the agent has made to cgroups, because otherwise a
// daemon-reload of systemd would revert them. NRI hooks send the changes for which they must wait;
// callSystemd sends the others. It sends them at once when a hook requests it
// (cgroup.Cgroups.PersistLater). It also tries again at intervals of retryEvery, in case an earlier
// attempt has failed. If there are many changes, each attempt sends only some of them, and a hook
// that waits for systemd gets its turn between two attempts. The first attempt also shows whether
// systemd answers. The agent sets the label numalet.dev/exclusive-cpus on the node only after
// systemd has answered.
func (a *agent) callSystemd(ctx context.Context) error {
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for failed := ""; ; {
		err := a.retrySystemd(ctx)
		if err != nil && err.Error() != failed && ctx.Err() == nil {
			a.log.Error(err, "systemd does not answer; pods that request exclusive CPUs are refused until it does")
		}
		failed = fmt.Sprint(err)
		select {
		case <-ctx.Done():
			return nil
		case <-a.cgroups.Due():
		case <-ticker.C:
		}
	}
}

func (a *agent) retrySystemd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, retryEvery)
	defer cancel()
	return a.cgroups.Retry(ctx)
}

// reconcileWhenListed waits until the API server has listed the node's pods. It then compares the
// running containers with these pods, and corrects the containers' CPUs (node.Reconcile).
func (a *agent) reconcileWhenListed(ctx context.Context) error {
	if err := a.pods.WaitForSync(ctx); err != nil {
		return nil // ctx has ended
	}
	a.node.Reconcile(ctx)
	return nil
}

func (a *agent) close() {
	a.events.Close()
	a.cgroups.Close()
}

// Run runs the agent until ctx ends. Pods stay pinned after that.
func Run(ctx context.Context, cfg config.Agent) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	a, err := newAgent(ctx, cfg, log)
	if err != nil {
		withdraw(ctx, cfg, log, err)
		return err
	}
	defer a.close()
	return a.run(ctx)
}

// adapter pins containers to their CPUs. One adapter uses hooks of the container runtime (NRI).
// The other adapter writes the cgroups of containers.
type adapter interface {
	Run(ctx context.Context) error
	Ready() error
}

// newAdapter sets a.runtime to the adapter that the flag --enforce selects. One adapter uses hooks
// of the container runtime (NRI). The other adapter writes the cgroup of a container after the
// runtime has created the container.
func (a *agent) newAdapter(measured *metrics.Metrics) {
	if a.cfg.Enforce != config.Cgroup {
		a.runtime = nri.New(nri.Options{Socket: a.cfg.NRISocket, Node: a.node, Cgroups: a.cgroups, Log: a.log, Observe: measured.Hook, Panicked: a.panicked})
		return
	}
	a.log.Info("containers are pinned after their start, and invalid pods cannot be refused; use NRI if the runtime supports it", "enforce", a.cfg.Enforce)
	watcher := direct.New(direct.Options{Cgroups: a.cgroups, Pods: a.pods, Node: a.node})
	a.runtime, a.podChanged = watcher, watcher.Notify
}
