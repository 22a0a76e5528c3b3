package controller

import (
	"context"
	"os"

	"k8s.io/klog/v2"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// Run schedules, or stands by for the leader, until ctx ends.
func Run(ctx context.Context, cfg config.Controller) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	klog.SetLogger(log)
	clients, err := connect(cfg, log)
	if err != nil {
		return err
	}
	c, err := newController(context.WithoutCancel(ctx), cfg, log, clients)
	if err != nil {
		return err
	}
	return c.run(ctx)
}
