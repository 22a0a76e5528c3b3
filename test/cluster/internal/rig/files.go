package rig

import (
	"fmt"
	"os"

	"github.com/numalet/numalet/test/cluster/internal/guest"
	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// Console is the file that holds what the machine wrote to its serial line.
func (r *Rig) Console(f machine.Flavour) string { return r.boot(f).Console }

// Copy copies a local file to path in the machine, with its permissions. The
// file appears whole: a program that runs is replaced, not written to.
func (r *Rig) Copy(g *guest.Client, f machine.Flavour, file, path string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("copy into %s: %w", f.Node, err)
	}
	q := guest.Quote(path)
	return r.boot(f).Post(file, func(read string) error {
		return run(g, fmt.Sprintf("%s > %s.new && chmod %o %s.new && mv -f %s.new %s", read, q, info.Mode().Perm(), q, q, q))
	})
}

// Load imports an image archive into the machine's containerd, where pods
// find it. It waits for a containerd that is just starting.
func (r *Rig) Load(g *guest.Client, f machine.Flavour, archive string) error {
	const ready = "until ctr version >/dev/null 2>&1; do sleep 0.2; done"
	return r.boot(f).Post(archive, func(read string) error {
		return run(g, ready+"; "+read+" | ctr -n k8s.io images import --local -")
	})
}

func run(g *guest.Client, line string) error {
	status, err := g.Run(line, guest.Stdio{Err: os.Stderr})
	if err == nil && status != 0 {
		err = fmt.Errorf("run %q in the machine: exit status %d", line, status)
	}
	return err
}
