package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// Down stops all machines and their control plane, and removes the cluster's state. Control planes
// without machines (type Alone) continue to run.
func (r *Rig) Down(context.Context) error {
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	var all error
	for _, f := range machine.Flavours() {
		all = errors.Join(all, r.stopMachine(f))
	}
	p, err := r.plane()
	if err != nil {
		return errors.Join(all, err)
	}
	for _, process := range slices.Backward(p.Processes()) {
		all = errors.Join(all, process.Stop(10*time.Second))
	}
	if all != nil {
		return all
	}
	return os.RemoveAll(r.Run())
}

// DownMachine stops one machine and deletes its Node. The control plane and other machines continue
// to run.
func (r *Rig) DownMachine(ctx context.Context, flavour machine.Flavour) error {
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.stopMachine(flavour); err != nil {
		return err
	}
	p, err := r.plane()
	if err != nil {
		return err
	}
	c, err := p.Client()
	if err != nil {
		return err
	}
	return c.DeleteNode(ctx, flavour.Node)
}

// stopMachine ends a machine and deletes its disk and other files. No shutdown is needed, because
// the disk is deleted.
func (r *Rig) stopMachine(flavour machine.Flavour) error {
	if err := r.process(flavour).Stop(3 * time.Second); err != nil {
		return err
	}
	b := r.boot(flavour)
	for _, file := range []string{b.Disk, b.Mailbox, b.Initrd, b.Kernel, b.Monitor, b.Console} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", file, err)
		}
	}
	return nil
}
