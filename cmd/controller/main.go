// Command numalet-controller schedules pods: it decides node and NUMA nodes
// together and binds both in one write.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/numalet/numalet/internal/config"
	"github.com/numalet/numalet/internal/telemetry"
)

// gcPercent is how much the heap may grow, in per cent of what lives, before it is
// collected. Little lives here, some kilobytes a node and a pod, and much is read,
// looked at and dropped: with the runtime's 100 collecting took a tenth of the
// time of a bind. GOGC and GOMEMLIMIT overrule it.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	config.Main("numalet-controller", telemetry.Version(), config.LoadController, serve)
}

// serve schedules, or stands by, until ctx ends.
func serve(ctx context.Context, cfg config.Controller) error {
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
