package rig

import (
	"fmt"
	"os"

	"github.com/numalet/numalet/test/cluster/internal/guest"
	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// Console returns the path of the file with the output of the machine's serial console.
func (r *Rig) Console(flavour machine.Flavour) string { return r.boot(flavour).Console }

// Copy copies a local file with its permissions to the given path in the machine. It replaces
// a file at this path atomically, so it can replace a running program.
func (r *Rig) Copy(g *guest.Client, flavour machine.Flavour, file, path string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("copy into %s: %w", flavour.Node, err)
	}
	q := guest.Quote(path)
	return r.boot(flavour).Post(file, func(read string) error {
		return run(g, fmt.Sprintf("%s > %s.new && chmod %o %s.new && mv -f %s.new %s", read, q, info.Mode().Perm(), q, q, q))
	})
}

// Load imports an image archive into the machine's container runtime. If containerd does not answer
// yet, Load waits for it. CRI-O need not run, because its images are imported into its storage.
func (r *Rig) Load(g *guest.Client, flavour machine.Flavour, archive string) error {
	load := func(read string) string {
		return "until ctr version >/dev/null 2>&1; do sleep 0.2; done; " + read + " | ctr -n k8s.io images import --local -"
	}
	if flavour.CRIO {
		load = func(read string) string { return read + " | /usr/local/lib/rig/load" }
	}
	return r.boot(flavour).Post(archive, func(read string) error { return run(g, load(read)) })
}

func run(g *guest.Client, line string) error {
	status, err := g.Run(line, guest.Stdio{Err: os.Stderr})
	if err == nil && status != 0 {
		err = fmt.Errorf("run %q in the machine: exit status %d", line, status)
	}
	return err
}
