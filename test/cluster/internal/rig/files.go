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
func Copy(g *guest.Client, file, path string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("copy into the machine: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("copy into the machine: %w", err)
	}
	q := guest.Quote(path)
	line := fmt.Sprintf("cat > %s.new && chmod %o %s.new && mv -f %s.new %s", q, info.Mode().Perm(), q, q, q)
	return run(g, line, guest.Stdio{In: f, Err: os.Stderr})
}

// Load imports an image archive into the machine's containerd, where pods
// find it. It waits for a containerd that is just starting.
func Load(g *guest.Client, archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("load image: %w", err)
	}
	defer f.Close()
	const line = "until ctr version >/dev/null 2>&1; do sleep 0.2; done; exec ctr -n k8s.io images import --local -"
	return run(g, line, guest.Stdio{In: f, Err: os.Stderr})
}

func run(g *guest.Client, line string, stdio guest.Stdio) error {
	status, err := g.Run(line, stdio)
	if err == nil && status != 0 {
		err = fmt.Errorf("run %q in the machine: exit status %d", line, status)
	}
	return err
}
