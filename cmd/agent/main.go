// Command numalet-agent pins containers to exclusive CPUs on one node.
package main

import (
	"context"
	"os"

	"github.com/numalet/numalet/internal/config"
	"github.com/numalet/numalet/internal/telemetry"
)

func main() {
	config.Main("numalet-agent", telemetry.Version(), config.LoadAgent, serve)
}

// serve runs the agent until ctx ends. Pods stay pinned meanwhile.
func serve(ctx context.Context, cfg config.Agent) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	a, err := newAgent(ctx, cfg, log)
	if err != nil {
		withdraw(ctx, cfg, log)
		return err
	}
	defer a.close()
	return a.run(ctx)
}
