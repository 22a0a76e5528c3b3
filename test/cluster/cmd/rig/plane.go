package main

import (
	"context"
	"fmt"

	"github.com/numalet/numalet/test/cluster/internal/rig"
)

// plane is the command `rig plane up|env|down NAME`, for a control plane without nodes.
func plane(ctx context.Context, c call) error {
	if len(c.args) != 2 {
		return fmt.Errorf("control plane alone: want up, env or down, and a NAME; got %q", c.args)
	}
	a, err := c.rig.Alone(c.args[1])
	if err != nil {
		return err
	}
	switch c.args[0] {
	case "up":
		if err := a.Up(ctx); err != nil {
			return err
		}
		planeEnv(a)
	case "env":
		planeEnv(a)
	case "down":
		return a.Down()
	default:
		return fmt.Errorf("control plane alone: want up, env or down; got %q", c.args[0])
	}
	return nil
}

func planeEnv(a rig.Alone) {
	fmt.Printf("export KUBECONFIG=%s\n", a.Kubeconfig())
	fmt.Printf("export PATH=%s:$PATH\n", a.Bin())
}
