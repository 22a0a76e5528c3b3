package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/numalet/numalet/test/cluster/internal/build"
	"github.com/numalet/numalet/test/cluster/internal/control"
	"github.com/numalet/numalet/test/cluster/internal/guest"
	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// startupTimeout is the maximum duration of the start of a cluster, without the build, and of a
// reboot. It is long enough for a slow, busy host.
const startupTimeout = 15 * time.Minute

// Up starts a cluster and waits until the node is Ready. It builds everything that is missing. It
// starts the control plane, and the machine of the given flavour (kind of virtual machine), unless
// they run already.
func (r *Rig) Up(ctx context.Context, flavour machine.Flavour) error {
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	b, err := r.Build([]machine.Flavour{flavour})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startupTimeout)
	defer cancel()
	p, err := r.startPlane(ctx)
	if err != nil {
		return err
	}
	return r.startNode(ctx, p, b, flavour)
}

func (r *Rig) startPlane(ctx context.Context) (control.Plane, error) {
	p, err := r.plane()
	if err != nil {
		return p, err
	}
	start := time.Now()
	if err := p.Up(ctx); err != nil {
		return p, err
	}
	fmt.Fprintf(r.Out, "control plane: ready after %.1f s\n", time.Since(start).Seconds())
	return p, nil
}

// startNode boots the flavour's machine if it does not run, and waits until the node is Ready.
func (r *Rig) startNode(ctx context.Context, p control.Plane, b build.Result, flavour machine.Flavour) error {
	if r.process(flavour).PID() == 0 {
		return r.bootNode(ctx, p, b, flavour)
	}
	g, err := r.awaitMachine(ctx, flavour)
	if err != nil {
		return err
	}
	g.Close()
	return r.awaitReady(ctx, p, flavour, time.Now())
}

func (r *Rig) awaitReady(ctx context.Context, p control.Plane, flavour machine.Flavour, start time.Time) error {
	c, err := p.Client()
	if err != nil {
		return err
	}
	if err := awaitNode(ctx, c, flavour.Node, ""); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "%s: Ready after %.1f s\n", flavour.Node, time.Since(start).Seconds())
	return nil
}

func (r *Rig) loadImages(g *guest.Client, flavour machine.Flavour, dir string) error {
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	if err != nil {
		return err
	}
	for _, a := range archives {
		if err := r.Load(g, flavour, a); err != nil {
			return err
		}
	}
	return nil
}

// lock waits until no other process starts or stops parts of the cluster. Until unlock is called,
// no other process can start or stop parts of the cluster through this package.
func (r *Rig) lock() (unlock func(), err error) {
	if err := os.MkdirAll(r.Run(), 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", r.Run(), err)
	}
	return lock(filepath.Join(r.Dir, "lock"))
}

func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the rig: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the rig: %w", err)
	}
	return func() { f.Close() }, nil
}
