// Package rig builds, starts and stops a test cluster: a real control plane on the host, and nodes
// with several NUMA nodes in QEMU virtual machines.
package rig

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
	"github.com/numalet/numalet/test/cluster/internal/build"
	"github.com/numalet/numalet/test/cluster/internal/control"
	"github.com/numalet/numalet/test/cluster/internal/machine"
	"github.com/numalet/numalet/test/cluster/internal/pki"
)

// Rig manages the test cluster. Its directory has a cache of build results, the state of the cluster,
// and the state of control planes without machines (type Alone).
type Rig struct {
	Dir      string
	Out      io.Writer      // progress
	Versions build.Versions // versions to build; a running cluster keeps its versions
}

// Open returns the Rig for clusters of the given versions. Its directory is
// ${NUMALET_CACHE:-$HOME/.cache/numalet}/rig.
func Open(out io.Writer, v build.Versions) (*Rig, error) {
	cache := os.Getenv("NUMALET_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find the cache: %w: set NUMALET_CACHE", err)
		}
		cache = filepath.Join(home, ".cache", "numalet")
	}
	return &Rig{Dir: filepath.Join(cache, "rig"), Out: out, Versions: v}, nil
}

// Build builds everything that is missing for machines of the given flavours (kinds of virtual
// machines).
func (r *Rig) Build(flavours []machine.Flavour) (build.Result, error) {
	b, err := r.builder()
	if err != nil {
		return build.Result{}, err
	}
	defer b.Log.Close()
	result, err := b.All(flavours, r.Out)
	if err != nil {
		return result, err
	}
	return result, linkPrograms(r.Bin(), result)
}

// builder returns a Builder that builds into the Rig's cache. The caller must close the Builder's
// log.
func (r *Rig) builder() (build.Builder, error) {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return build.Builder{}, fmt.Errorf("make %s: %w", r.Dir, err)
	}
	source, err := moduleDir()
	if err != nil {
		return build.Builder{}, err
	}
	log, err := os.OpenFile(filepath.Join(r.Dir, "build.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return build.Builder{}, fmt.Errorf("open build log: %w", err)
	}
	return build.Builder{Store: artefact.Store{Dir: filepath.Join(r.Dir, "cache")}, Source: source, Log: log, Versions: r.Versions}, nil
}

// linkPrograms creates links to kubectl and kubeone in the directory given as `bin`. Users add this
// directory to their PATH.
func linkPrograms(bin string, b build.Result) error {
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", bin, err)
	}
	for name, dir := range map[string]string{"kubectl": b.Kubectl, "kubeone": b.Kubeone} {
		link := filepath.Join(bin, name)
		_ = os.Remove(link)
		if err := os.Symlink(filepath.Join(dir, name), link); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// Bin returns the directory of the links to kubectl and kubeone.
func (r *Rig) Bin() string { return filepath.Join(r.Dir, "bin") }

// Run returns the directory of the state of the running cluster.
func (r *Rig) Run() string { return filepath.Join(r.Dir, "run") }

func (r *Rig) plane() (control.Plane, error) {
	ca, err := pki.Open(filepath.Join(r.Run(), "pki"))
	if err != nil {
		return control.Plane{}, err
	}
	p := control.Plane{Run: r.Run(), Kubeone: filepath.Join(r.Bin(), "kubeone"), CA: ca, Ports: control.MachinePorts()}
	for _, f := range machine.Flavours() {
		p.Nodes = append(p.Nodes, f.Node)
	}
	return p, nil
}

// moduleDir returns the directory of this module's sources, from which the command `rig` builds
// programs for the machines.
func moduleDir() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return "", fmt.Errorf("find the rig's sources: %w: build it in the repository, without -trimpath", err)
	}
	return dir, nil
}
