package rig

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/numalet/numalet/test/cluster/internal/build"
	"github.com/numalet/numalet/test/cluster/internal/control"
	"github.com/numalet/numalet/test/cluster/internal/guest"
	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// The boot of a machine takes 15 seconds, or one minute on a busy host. One boot hung for 15
// minutes. So a machine that does not answer within bootTimeout is deleted, and another one is
// started.
const (
	bootTimeout = 6 * time.Minute
	bootTries   = 2
)

// bootMachine starts a machine and connects to it.
func (r *Rig) bootMachine(ctx context.Context, p control.Plane, b build.Result, flavour machine.Flavour) (*guest.Client, error) {
	for try := 1; ; try++ {
		start := time.Now()
		if err := r.startMachine(p, b, flavour); err != nil {
			return nil, err
		}
		g, err := r.awaitBoot(ctx, flavour)
		if err == nil {
			fmt.Fprintf(r.Out, "%s: booted after %.1f s\n", flavour.Node, time.Since(start).Seconds())
			return g, nil
		}
		fmt.Fprintf(r.Out, "%s: boot %d of %d: %v; its console ends so:\n%s\n", flavour.Node, try, bootTries, err, tail(r.Console(flavour), 4096))
		if ctx.Err() != nil || try == bootTries {
			return nil, err
		}
		if err := r.stopMachine(flavour); err != nil {
			return nil, err
		}
	}
}

func (r *Rig) awaitBoot(ctx context.Context, flavour machine.Flavour) (*guest.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	return r.awaitMachine(ctx, flavour)
}

// awaitMachine connects to a running machine once it answers.
func (r *Rig) awaitMachine(ctx context.Context, flavour machine.Flavour) (*guest.Client, error) {
	d, err := r.Door(flavour)
	if err != nil {
		return nil, err
	}
	g, err := d.Await(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: see %s", err, r.Console(flavour))
	}
	return g, nil
}

// tail returns at most the last n bytes of a file. If it cannot read the file, it returns the error
// as text.
func tail(file string, n int) string {
	body, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(body[max(0, len(body)-n):])
}
