// Command numalet-deviceplugin tells the kubelet, per NUMA node, how many CPUs
// may be exclusive.
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
	cfg, err := config.LoadDevicePlugin(config.Input{
		Args: os.Args[1:], LookupEnv: os.LookupEnv, Out: os.Stdout, Version: telemetry.Version(),
	})
	if errors.Is(err, config.ErrDone) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		err = serve(ctx, cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "numalet-deviceplugin:", err)
		os.Exit(1)
	}
}
