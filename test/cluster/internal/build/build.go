// Package build builds everything that the command `rig` starts: Kubernetes, the container runtime, a
// kernel, images and root file systems. Each part is a directory in the cache (package artefact)
// and is built once for each version.
package build

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
	"github.com/numalet/numalet/test/cluster/internal/machine"
	"github.com/numalet/numalet/test/cluster/internal/progress"
)

// Builder builds the artefacts that a cluster needs, from the Go module proxy, Debian packages and
// the sources of this module.
type Builder struct {
	Store    artefact.Store
	Source   string   // directory of this module
	Log      *os.File // receives the output of the tools
	Versions Versions
}

// Plane builds the two programs of a control plane without nodes. One is kubeone, which contains
// etcd and the Kubernetes components. The other one is kubectl.
func (b Builder) Plane(out io.Writer) (r Result, err error) {
	p := &progress.Reporter{Out: out, Total: 2}
	if r.Kubeone, err = b.step(p, b.kubernetesTitle(), b.kubeone()); err != nil {
		return r, err
	}
	r.Kubectl, err = b.step(p, kubectlTitle, b.kubectl())
	return r, err
}

const kubectlTitle = "kubectl (about 1 min cold)"

func (b Builder) kubernetesTitle() string {
	return "Kubernetes " + b.Versions.kubernetes() + " and etcd (about 5 min cold)"
}

// Result has the directories of the built parts. The comment of each field names the files in its
// directory.
type Result struct {
	Emulator string            // qemu
	Kubeone  string            // kubeone
	Kubectl  string            // kubectl
	Runtime  string            // bin/{containerd,containerd-shim-runc-v2,ctr,runc}, cni/
	Images   string            // *.tar
	CRIO     string            // crio, pinns; empty unless one of the flavours has CRI-O
	Kernels  map[string]string // by flavour (kind of virtual machine): vmlinuz, initrd
	Roots    map[string]string // by flavour: root.img
}

// All builds the missing parts for machines of the given flavours, and reports each step to out.
func (b Builder) All(flavours []machine.Flavour, out io.Writer) (Result, error) {
	r := Result{Kernels: map[string]string{}, Roots: map[string]string{}}
	p := &progress.Reporter{Out: out, Total: 6 + 2*len(flavours) + countCRIO(flavours)}
	if err := p.Step("tools", b.installTools); err != nil {
		return r, err
	}
	for _, s := range []struct {
		title  string
		recipe artefact.Recipe
		dir    *string
	}{
		{"QEMU", b.emulator(), &r.Emulator},
		{b.kubernetesTitle(), b.kubeone(), &r.Kubeone},
		{kubectlTitle, b.kubectl(), &r.Kubectl},
		{"containerd " + b.Versions.containerd() + ", runc " + runcVersion + " (about 2 min cold)", b.runtime(), &r.Runtime},
		{"images", b.images(), &r.Images},
	} {
		dir, err := b.step(p, s.title, s.recipe)
		if err != nil {
			return r, err
		}
		*s.dir = dir
	}
	for _, f := range flavours {
		var err error
		if f.CRIO {
			if r.CRIO, err = b.step(p, "CRI-O "+crioVersion+" (about 15 min cold)", b.crio()); err != nil {
				return r, err
			}
		}
		if r.Kernels[f.Name], err = b.step(p, "kernel, "+f.Name, b.kernel(f)); err != nil {
			return r, err
		}
		if r.Roots[f.Name], err = b.step(p, "root file system, "+f.Name, b.root(f, r)); err != nil {
			return r, err
		}
	}
	return r, nil
}

func countCRIO(flavours []machine.Flavour) (n int) {
	for _, f := range flavours {
		if f.CRIO {
			n++
		}
	}
	return n
}

func (b Builder) step(p *progress.Reporter, title string, recipe artefact.Recipe) (dir string, err error) {
	if b.Store.Has(recipe) {
		p.Skip(title)
		return b.Store.Path(recipe), nil
	}
	err = p.Step(title, func() error {
		dir, err = b.Store.Get(recipe)
		return err
	})
	return dir, err
}

// tool has settings for a program that the method `run` executes: its working directory, and
// environment variables in addition to those of this process.
type tool struct {
	Dir string
	Env []string
}

func (b Builder) run(t tool, argv ...string) error {
	fmt.Fprintf(b.Log, "+ %q\n", argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = t.Dir, append(os.Environ(), t.Env...)
	cmd.Stdout, cmd.Stderr = b.Log, b.Log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w: see %s", filepath.Base(argv[0]), err, b.Log.Name())
	}
	return nil
}
