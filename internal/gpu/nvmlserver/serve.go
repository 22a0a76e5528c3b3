// Package nvmlserver is the program numalet-nvml. It monitors a node's GPUs with NVML, writes their
// specification for the Container Device Interface (CDI), and sends the inventory of GPUs to the
// agent and the device plugin.
package nvmlserver

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/internal/gpu/nvml"
	"github.com/numalet/numalet/internal/gpu/nvml/cdi"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/pkg/gpu"
)

// Run monitors the GPUs, and sends their inventory to clients. It returns when ctx ends, when the
// monitor or one of the servers fails, or when only a new container can open the GPUs.
func Run(ctx context.Context, cfg config.NVML) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	version := telemetry.Version()
	log.Info("start", "version", version)
	feed := gpufeed.NewServer(cfg.GPUSocket, max(gpufeed.DefaultTimeout, 3*cfg.Refresh))
	memoryErrors := map[string]uint64{}
	monitor := nvml.NewMonitor(nvml.MonitorOptions{
		Open: func() (nvml.Driver, error) { return open(cfg, memoryErrors, log) }, Prepare: specWriter(cfg, log), Publish: feed.Publish,
		Tick: time.Tick(cfg.Refresh), Now: time.Now, MinFault: cfg.RecoveryDelay, Log: log,
	})
	health, err := telemetry.NewServer(cfg.HealthAddr, telemetry.NewRegistry("numalet-nvml", version),
		telemetry.Check{Name: "NVML", Ready: monitor.Live, Live: monitor.Live})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Run(ctx) })
	group.Go(func() error { return feed.Run(ctx) })
	group.Go(func() error { return monitor.Run(ctx) })
	group.Go(func() error {
		return watchDevices(ctx, os.DirFS(filepath.Join(cfg.DriverRoot, "dev")), os.DirFS("/dev"), time.Tick(cfg.Refresh))
	})
	defer log.Info("ended")
	return group.Wait()
}

// specWriter returns the function that updates the CDI specification, or nil if
// numalet-nvml must not write a specification. It first removes the specifications that
// numalet-nvml has written for other kinds of devices.
func specWriter(cfg config.NVML, log logr.Logger) func(*gpu.Inventory, cdi.Source) *gpu.Inventory {
	kind := cfg.OwnCDIKind()
	if err := cdi.Clean(cfg.CDIDir, kind); err != nil {
		log.Error(err, "cannot remove an old CDI specification")
	}
	if kind == "" {
		return nil
	}
	return cdi.NewSpecWriter(cdi.Options{
		Paths: cdi.Paths{Root: cfg.DriverRoot, HostRoot: cfg.HostRoot, Hook: cfg.CDIHook}, Kind: kind, Dir: cfg.CDIDir,
	}).Prepare
}

// open opens the driver. It searches for NVML at each call, because a driver may be
// installed while numalet-nvml runs. All calls get the same map memoryErrors (see nvml.Options).
func open(cfg config.NVML, memoryErrors map[string]uint64, log logr.Logger) (nvml.Driver, error) {
	library := cfg.Library
	if library == "" {
		var err error
		if library, err = nvml.Find(cfg.DriverRoot); err != nil {
			return nil, err
		}
	}
	return nvml.Open(nvml.Options{Library: library, Machine: os.DirFS(cfg.SysfsRoot), Log: log, MemoryErrors: memoryErrors})
}
