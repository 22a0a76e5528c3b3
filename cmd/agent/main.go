// Command numalet-agent pins containers to exclusive CPUs on one node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/numalet/numalet/internal/config"
	"github.com/numalet/numalet/internal/telemetry"
)

func main() {
	cfg, err := config.LoadAgent(config.Input{
		Args: os.Args[1:], LookupEnv: os.LookupEnv, Out: os.Stdout, Version: telemetry.Version(),
	})
	if errors.Is(err, config.ErrDone) {
		return
	}
	if err == nil {
		err = serve(cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "numalet-agent:", err)
		os.Exit(1)
	}
}

// serve runs the agent until it is told to end. Pods stay pinned meanwhile.
func serve(cfg config.Agent) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{JSON: cfg.LogFormat == config.JSON, Verbosity: cfg.Verbosity})
	a, err := newAgent(ctx, cfg, log)
	if err != nil {
		withdraw(ctx, cfg, log)
		return err
	}
	defer a.close()
	return a.run(ctx)
}
