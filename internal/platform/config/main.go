package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main is the main function of all programs other than the command line tool. It loads
// the configuration and calls the function given as `serve`, with a context that ends at
// SIGTERM or SIGINT. After an error, it writes the program's name and the error to
// standard error, and exits with status 1.
func Main[C any](name, version string, load func(Input) (C, error), serve func(context.Context, C) error) {
	cfg, err := load(Input{Args: os.Args[1:], LookupEnv: os.LookupEnv, Out: os.Stdout, Version: version})
	if errors.Is(err, ErrDone) {
		return
	}
	if err == nil {
		err = untilSignal(func(ctx context.Context) error { return serve(ctx, cfg) })
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// untilSignal calls the function given as `serve` with a context that ends at SIGTERM or
// SIGINT.
func untilSignal(serve func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return serve(ctx)
}
