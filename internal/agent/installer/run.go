// Package installer is the program numalet-containerd. It configures the containerd of a node to
// start containers only while the agent is connected, or undoes this configuration. It reports
// the result as events on the Node, and in its own readiness probe.
package installer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/numalet/numalet/internal/agent/checkpoint"
	"github.com/numalet/numalet/internal/agent/containerd"
	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// retryEvery is the time after which the installer tries again after a failure. checkEvery is the
// time between two checks of the result after a success. The checks are necessary because others
// may change containerd's configuration.
const (
	retryEvery = 15 * time.Second
	checkEvery = 5 * time.Minute
)

// Run configures containerd to require the agent, or undoes this configuration. It then checks
// and reports the result until ctx ends. When ctx ends, containerd keeps its configuration.
func Run(ctx context.Context, cfg config.Containerd) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	version := telemetry.Version()
	log.Info("start", "version", version, "undo", cfg.Undo)
	ctx = logr.NewContext(ctx, log)
	root, err := os.OpenRoot(cfg.HostRoot)
	if err != nil {
		return fmt.Errorf("open the node's root directory: %w; mount it, or set --host-root", err)
	}
	defer root.Close()
	boot, err := checkpoint.BootID(root.FS())
	if err != nil {
		return err
	}
	client, err := nodeapi.NewClient(cfg.Kubeconfig)
	if err != nil {
		return err
	}
	first, err := labels.Parse(cfg.StartFirst)
	if err != nil {
		return err
	}
	here := &cluster{client: client, node: cfg.NodeName, first: first}
	events := newEvents(ctx, client, cfg.NodeName)
	defer events.Shutdown()
	host := containerd.New(containerd.Options{
		Root: root, Binary: containerd.Chroot{Root: root}, Service: containerd.Unit{Name: cfg.Unit},
		Serves:    containerd.Serves(cfg.HostRoot + cfg.CRISocket),
		Connected: containerd.Connected(strings.TrimSuffix(cfg.Agent, "/") + "/readyz"),
		Tolerated: here.tolerated,
		Attempt:   cfg.PodUID, Boot: boot, Timeout: cfg.Timeout, Log: log,
	})
	k := &keeper{do: host.Install, done: "containerd requires the agent: without it, no container is created on this node", log: log, report: here.report(events)}
	if cfg.Undo {
		k.do, k.done = host.Undo, "containerd does not require the agent"
	}
	k.setState(errors.New("not done yet"))
	health, err := telemetry.NewServer(cfg.HealthAddr, telemetry.NewRegistry("numalet-containerd", version), telemetry.Check{Name: "containerd", Ready: k.Ready})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Run(ctx) })
	group.Go(func() error { return k.run(ctx) })
	defer log.Info("ended; containerd keeps its configuration")
	return group.Wait()
}

// keeper calls its function `do` regularly, and reports an outcome if it differs from the outcome of
// the call before.
type keeper struct {
	do     func(context.Context) error
	done   string // the message that reports a success
	log    logr.Logger
	report func(kind, message string)

	mu    sync.Mutex
	state error
}

// Ready returns nil if the last call of the function `do` succeeded, and otherwise the error of this
// call.
func (k *keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// setState records the outcome of a call of the function `do`, and reports whether it differs from
// the outcome of the call before.
func (k *keeper) setState(err error) (changed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changed = fmt.Sprint(k.state) != fmt.Sprint(err)
	k.state = err
	return changed
}

func (k *keeper) run(ctx context.Context) error {
	for {
		delay := checkEvery
		err := k.do(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			err, delay = errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")), retryEvery
		}
		if k.setState(err) {
			k.tell(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
	}
}

func (k *keeper) tell(err error) {
	if err == nil {
		k.log.Info(k.done)
		k.report(normal, k.done)
		return
	}
	k.log.Error(err, "not done; trying again", "after", retryEvery.String())
	k.report(warning, err.Error())
}
