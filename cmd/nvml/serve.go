package main

import (
	"context"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/numalet/numalet/internal/config"
	"github.com/numalet/numalet/internal/feed"
	"github.com/numalet/numalet/internal/nvml"
	"github.com/numalet/numalet/internal/telemetry"
)

// serve tells of the GPUs until ctx ends.
func serve(ctx context.Context, cfg config.NVML) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	version := telemetry.Version()
	log.Info("start", "version", version)
	health, err := telemetry.NewServer(cfg.HealthAddr, telemetry.NewRegistry("numalet-nvml", version))
	if err != nil {
		return err
	}
	readers := feed.NewServer(cfg.GPUSocket)
	monitor := nvml.NewMonitor(nvml.Env{
		Open: func() (nvml.Driver, error) { return open(cfg) }, Publish: readers.Publish,
		Tick: time.Tick(cfg.Refresh), Now: time.Now, Settle: cfg.Settle, Log: log,
	})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Run(ctx) })
	group.Go(func() error { return readers.Run(ctx) })
	group.Go(func() error { return monitor.Run(ctx) })
	defer log.Info("ended")
	return group.Wait()
}

// open looks for the library each time, for a driver may be installed any time.
func open(cfg config.NVML) (nvml.Driver, error) {
	library := cfg.Library
	if library == "" {
		var err error
		if library, err = nvml.Find(cfg.DriverRoot); err != nil {
			return nil, err
		}
	}
	return nvml.Open(nvml.Options{Library: library, Machine: os.DirFS(cfg.SysfsRoot)})
}
