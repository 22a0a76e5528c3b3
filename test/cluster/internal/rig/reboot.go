package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/numalet/numalet/test/cluster/internal/guest"
	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// Reboot reboots the machine and waits until the node is Ready again. If `hard` is true, Reboot
// resets the machine without a shutdown.
func (r *Rig) Reboot(ctx context.Context, flavour machine.Flavour, hard bool) error {
	ctx, cancel := context.WithTimeout(ctx, startupTimeout)
	defer cancel()
	p, err := r.plane()
	if err != nil {
		return err
	}
	c, err := p.Client()
	if err != nil {
		return err
	}
	before, err := c.Node(ctx, flavour.Node)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := r.restart(flavour, hard); err != nil {
		return err
	}
	if err := awaitNode(ctx, c, flavour.Node, before.BootID); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "%s: Ready again after %.1f s\n", flavour.Node, time.Since(start).Seconds())
	return nil
}

func (r *Rig) restart(flavour machine.Flavour, hard bool) error {
	if hard {
		return r.boot(flavour).Reset()
	}
	g, err := r.Enter(flavour)
	if err != nil {
		return err
	}
	defer g.Close()
	_, err = g.Run("sync; nohup sh -c 'sleep 0.5; reboot' >/dev/null 2>&1 &", guest.Stdio{})
	return err
}
