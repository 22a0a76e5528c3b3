package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/numalet/numalet/internal/config"
	"github.com/numalet/numalet/internal/kubelet"
	"github.com/numalet/numalet/internal/telemetry"
)

// serve publishes until ctx ends.
func serve(ctx context.Context, cfg config.DevicePlugin) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	version := telemetry.Version()
	log.Info("start", "version", version, "exclusiveCPUs", cfg.ExclusiveCPUs)
	registry := telemetry.NewRegistry("numalet-deviceplugin", version)
	publish, checks, err := newPublish(cfg, log, registry)
	if err != nil {
		return err
	}
	health, err := telemetry.NewServer(cfg.HealthAddr, registry, checks...)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Run(ctx) })
	group.Go(func() error { return publish(ctx) })
	defer log.Info("ended")
	return group.Wait()
}

// newPublish returns what keeps the kubelet told, and when that is ready. With
// exclusive CPUs switched off it tells the kubelet nothing, which sets what was
// registered before to 0.
func newPublish(cfg config.DevicePlugin, log logr.Logger, metrics prometheus.Registerer) (func(context.Context) error, []telemetry.Check, error) {
	if !cfg.ExclusiveCPUs {
		return waitForEnd, nil, nil
	}
	here := &machine{root: os.DirFS(cfg.SysfsRoot)}
	first, err := here.discover()
	if err != nil {
		return nil, nil, fmt.Errorf("discover the machine under %s: %w", cfg.SysfsRoot, err)
	}
	known, err := kubelet.ReadConfig(cfg.KubeletConfig, cfg.KubeletConfigDir)
	if err != nil {
		return nil, nil, err
	}
	reserved, from, err := kubelet.Reserved(cfg.ReservedCPUs, known, first)
	if err != nil {
		return nil, nil, err
	}
	log.Info("reserve", "cpus", reserved.String(), "from", from)
	p := kubelet.NewPublisher(kubelet.Options{
		Root: cfg.KubeletDir, Reserved: reserved, Discover: here.discover,
		Tick: time.Tick(cfg.Refresh), After: time.After, Log: log, Metrics: metrics,
	})
	return p.Run, []telemetry.Check{{Name: "kubelet", Ready: p.Ready}}, nil
}

func waitForEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
