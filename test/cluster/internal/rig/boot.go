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

// A node usually becomes Ready 20 seconds after the start of its machine, or two minutes on a busy
// host. QEMU without hardware virtualization sometimes loses an interrupt, and then the machine
// hangs. So if the node is not Ready within bootTimeout, its machine is deleted and started again.
// A machine is started at most bootTries times.
const (
	bootTimeout = 6 * time.Minute
	bootTries   = 2
)

// bootNode starts the machine of a flavour (a kind of virtual machine), loads its images, and waits
// until its node is Ready.
func (r *Rig) bootNode(ctx context.Context, p control.Plane, b build.Result, flavour machine.Flavour) error {
	for try := 1; ; try++ {
		err := r.tryBoot(ctx, p, b, flavour)
		if err == nil {
			return nil
		}
		fmt.Fprintf(r.Out, "%s: boot %d of %d: %v; its console ends so:\n%s\n", flavour.Node, try, bootTries, err, tail(r.Console(flavour), 4096))
		if ctx.Err() != nil || try == bootTries {
			return err
		}
		if err := r.stopMachine(flavour); err != nil {
			return err
		}
	}
}

func (r *Rig) tryBoot(ctx context.Context, p control.Plane, b build.Result, flavour machine.Flavour) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	if err := r.startMachine(p, b, flavour); err != nil {
		return err
	}
	g, err := r.awaitMachine(ctx, flavour)
	if err != nil {
		return err
	}
	defer g.Close()
	// While loadImages waits for an answer of the machine, it does not notice the end of ctx. So
	// the connection is closed when ctx ends, which makes loadImages fail.
	defer context.AfterFunc(ctx, func() { g.Close() })()
	fmt.Fprintf(r.Out, "%s: booted after %.1f s\n", flavour.Node, time.Since(start).Seconds())
	if err := r.loadImages(g, flavour, b.Images); err != nil {
		return err
	}
	return r.awaitReady(ctx, p, flavour, start)
}

// awaitMachine connects to a running machine as soon as it answers.
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
