package deviceplugin

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/numalet/numalet/internal/deviceplugin/kubelet"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// Run publishes the node's exclusive CPUs and GPUs to the kubelet until ctx ends.
func Run(ctx context.Context, cfg config.DevicePlugin) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	version := telemetry.Version()
	log.Info("start", "version", version, "exclusiveCPUs", cfg.ExclusiveCPUs)
	registry := telemetry.NewRegistry("numalet-deviceplugin", version)
	parts, checks, err := newParts(cfg, log, registry)
	if err != nil {
		return err
	}
	health, err := telemetry.NewServer(cfg.HealthAddr, registry, checks...)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Run(ctx) })
	for _, part := range parts {
		group.Go(func() error { return part(ctx) })
	}
	defer log.Info("ended")
	return group.Wait()
}

// newParts returns the functions that must run until the program ends, and the readiness checks. If
// exclusive CPUs are disabled and cfg.GPUSocket is empty, nothing is registered. The kubelet then
// sets the capacity of previously registered resources to 0.
func newParts(cfg config.DevicePlugin, log logr.Logger, metrics prometheus.Registerer) ([]func(context.Context) error, []telemetry.Check, error) {
	o := kubelet.Options{Root: cfg.KubeletDir, Tick: time.Tick(cfg.Refresh), After: time.After, Log: log, Metrics: metrics}
	if cfg.ExclusiveCPUs {
		cpus, err := newCPUs(cfg, log)
		if err != nil {
			return nil, nil, err
		}
		o.Sources = append(o.Sources, cpus)
	}
	var gpus *gpuPublisher
	if cfg.GPUSocket != "" {
		var err error
		if gpus, err = newGPUPublisher(cfg, log); err != nil {
			return nil, nil, err
		}
		o.Sources = append(o.Sources, gpus.source)
	}
	if len(o.Sources) == 0 {
		return []func(context.Context) error{waitForEnd}, nil, nil
	}
	p := kubelet.NewPublisher(o)
	parts, checks := []func(context.Context) error{p.Run}, []telemetry.Check{{Name: "kubelet", Ready: p.Ready}}
	if gpus != nil {
		gpus.changed = p.Notify
		parts, checks = append(parts, gpus.parts()...), append(checks, gpus.checks()...)
	}
	return parts, checks, nil
}

// newCPUs reads the machine and the set of its reserved CPUs, and returns the Source of
// exclusive CPUs.
func newCPUs(cfg config.DevicePlugin, log logr.Logger) (*kubelet.CPUs, error) {
	here := &machine{root: os.DirFS(cfg.SysfsRoot)}
	first, err := here.discover()
	if err != nil {
		return nil, fmt.Errorf("discover the machine under %s: %w", cfg.SysfsRoot, err)
	}
	known, err := kubelet.ReadConfig(cfg.KubeletConfig, cfg.KubeletConfigDir)
	if err != nil {
		return nil, err
	}
	reserved, from, err := kubelet.Reserved(cfg.ReservedCPUs, known, first)
	if err != nil {
		return nil, err
	}
	log.Info("reserve", "cpus", reserved.String(), "from", from)
	return &kubelet.CPUs{Reserved: reserved, Discover: here.discover}, nil
}

func waitForEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
