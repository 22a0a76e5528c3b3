package agent

import (
	"context"
	"os"

	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// Run runs the agent until ctx ends. Pods stay pinned after that.
func Run(ctx context.Context, cfg config.Agent) error {
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	a, err := newAgent(ctx, cfg, log)
	if err != nil {
		withdraw(ctx, cfg, log)
		return err
	}
	defer a.close()
	return a.run(ctx)
}
