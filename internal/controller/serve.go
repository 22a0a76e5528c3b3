package controller

import (
	"cmp"
	"context"
	"os"

	"k8s.io/klog/v2"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// Run runs the controller until ctx is done. The controller schedules pods while it is the
// leader, and waits as a standby while another replica is the leader.
func Run(ctx context.Context, cfg config.Controller) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	klog.SetLogger(log)
	kubescheduler, err := configuration(cfg) // read first, because this configuration may name the kubeconfig
	if err != nil {
		return err
	}
	cfg.Kubeconfig = cmp.Or(cfg.Kubeconfig, kubescheduler.Kubeconfig())
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
