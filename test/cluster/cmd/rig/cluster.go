package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/numalet/numalet/test/cluster/internal/machine"
)

func buildAll(_ context.Context, c call) error {
	flavours := machine.Flavours()
	if c.named {
		flavours = []machine.Flavour{c.flavour}
	}
	_, err := c.rig.Build(flavours)
	return err
}

func up(ctx context.Context, c call) error {
	if err := c.rig.Up(ctx, c.flavour); err != nil {
		return err
	}
	return env(ctx, c)
}

func down(ctx context.Context, c call) error {
	if c.named {
		return c.rig.DownMachine(ctx, c.flavour)
	}
	return c.rig.Down(ctx)
}

func status(ctx context.Context, c call) error {
	lines, err := c.rig.Status(ctx)
	if err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Println(l)
	}
	return nil
}

func env(_ context.Context, c call) error {
	fmt.Printf("export KUBECONFIG=%s\n", filepath.Join(c.rig.Run(), "admin.kubeconfig"))
	fmt.Printf("export PATH=%s:$PATH\n", c.rig.Bin())
	return nil
}

func reboot(ctx context.Context, c call) error { return c.rig.Reboot(ctx, c.flavour, c.hard) }
