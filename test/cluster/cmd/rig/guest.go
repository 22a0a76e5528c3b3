package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/numalet/numalet/test/cluster/internal/guest"
)

// shell runs a command in the machine, with the standard input and output of this process. Without
// a command it runs a shell, which is interactive if the input is a terminal.
func shell(_ context.Context, c call) error {
	g, err := c.rig.Enter(c.flavour)
	if err != nil {
		return err
	}
	defer g.Close()
	stdio := guest.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if len(c.args) == 0 && term.IsTerminal(int(os.Stdin.Fd())) {
		return interactive(g, stdio)
	}
	words := c.args
	if len(words) == 0 {
		words = []string{"sh"}
	}
	return ended(g.Run(guest.Line(words), stdio))
}

func interactive(g *guest.Client, stdio guest.Stdio) error {
	fd := int(os.Stdin.Fd())
	columns, rows, err := term.GetSize(fd)
	if err != nil {
		return fmt.Errorf("read terminal size: %w", err)
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return fmt.Errorf("set terminal: %w", err)
	}
	defer term.Restore(fd, before)
	return ended(g.Shell(rows, columns, stdio))
}

func cp(_ context.Context, c call) error {
	if len(c.args) != 2 {
		return fmt.Errorf("copy into the machine: want FILE PATH, got %q", c.args)
	}
	g, err := c.rig.Enter(c.flavour)
	if err != nil {
		return err
	}
	defer g.Close()
	return c.rig.Copy(g, c.flavour, c.args[0], c.args[1])
}

func load(_ context.Context, c call) error {
	if len(c.args) == 0 {
		return fmt.Errorf("load image: name an archive")
	}
	g, err := c.rig.Enter(c.flavour)
	if err != nil {
		return err
	}
	defer g.Close()
	for _, archive := range c.args {
		if err := c.rig.Load(g, c.flavour, archive); err != nil {
			return err
		}
	}
	return nil
}

func logs(_ context.Context, c call) error {
	what := "console"
	if len(c.args) > 0 {
		what = c.args[0]
	}
	if what == "console" {
		f, err := os.Open(c.rig.Console(c.flavour))
		if err != nil {
			return fmt.Errorf("read console: %w", err)
		}
		defer f.Close()
		_, err = io.Copy(os.Stdout, f)
		return err
	}
	g, err := c.rig.Enter(c.flavour)
	if err != nil {
		return err
	}
	defer g.Close()
	line := guest.Line([]string{"cat", "/var/log/" + what + ".log"})
	if what == "journal" {
		line = "journalctl --no-pager --boot"
	}
	return ended(g.Run(line, guest.Stdio{Out: os.Stdout, Err: os.Stderr}))
}

func ended(status int, err error) error {
	if err == nil && status != 0 {
		return exitStatus(status)
	}
	return err
}
