package e2eutil

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Rig is the machine under test: a virtual machine with several NUMA nodes. The kubelet of the
// machine has joined a real control plane. Bin is the path of the program `rig` (test/cluster),
// which manages such machines.
type Rig struct {
	Bin     string
	Flavour string // kind of machine, such as plain or systemd
}

// Node returns the name of the machine's Node object.
func (r Rig) Node() string { return "numa-" + r.Flavour }

// Shell runs a shell command line in the machine and returns its standard output.
func (r Rig) Shell(ctx context.Context, command string) (string, error) {
	return r.run(ctx, "shell", "--flavour", r.Flavour, "sh", "-c", command)
}

// Copy copies a file into the machine, with its permissions.
func (r Rig) Copy(ctx context.Context, file, path string) error {
	_, err := r.run(ctx, "cp", "--flavour", r.Flavour, file, path)
	return err
}

// Reboot resets the machine without a shutdown, and waits until its node is Ready.
func (r Rig) Reboot(ctx context.Context) error {
	_, err := r.run(ctx, "reboot", "--hard", "--flavour", r.Flavour)
	return err
}

// Spawn starts a command in the machine and returns the command, for which the caller must wait.
// Standard output and standard error of the command go to the returned buffer.
func (r Rig) Spawn(ctx context.Context, command string) (*exec.Cmd, *bytes.Buffer, error) {
	cmd := exec.CommandContext(ctx, r.Bin, "shell", "--flavour", r.Flavour, "sh", "-c", command)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out, cmd.Start()
}

// Script runs a script of the tests on this host, not in the machine. The first argument of the
// script is the machine's flavour. The parameter `args` has the arguments after it.
func (r Rig) Script(ctx context.Context, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, append([]string{r.Flavour}, args...)...)
	cmd.Env = append(os.Environ(), "RIG="+r.Bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd, err, out)
	}
	return nil
}

func (r Rig) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, r.Bin, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("rig %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
