package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main is what a program's main function does: it loads the program's settings
// and serves with them, until SIGTERM or SIGINT ends the context. What fails is
// said on standard error, after the program's name, and ends the process with
// status 1.
func Main[C any](name, version string, load func(Input) (C, error), serve func(context.Context, C) error) {
	cfg, err := load(Input{Args: os.Args[1:], LookupEnv: os.LookupEnv, Out: os.Stdout, Version: version})
	if errors.Is(err, ErrDone) {
		return
	}
	if err == nil {
		err = untilTold(func(ctx context.Context) error { return serve(ctx, cfg) })
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// untilTold calls serve with a context that ends when the process is told to.
func untilTold(serve func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return serve(ctx)
}
