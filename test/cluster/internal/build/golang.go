package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
)

func (b Builder) kubeone() artefact.Recipe { return b.kubernetes("kubeone", ".") }

func (b Builder) kubectl() artefact.Recipe {
	return b.kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl")
}

// kubernetes returns the recipe for the program with the given name. The argument `pkg` is the
// program's package. The program is built in the Go module of the directory kubeone. The .mod file
// for the version of Kubernetes pins all modules of Kubernetes.
func (b Builder) kubernetes(name, pkg string) artefact.Recipe {
	dir, flags, module := filepath.Join(b.Source, "kubeone"), b.Versions.flags(), b.Versions.module()
	return artefact.Recipe{
		Name:   name,
		Inputs: append(sources(dir, "*.go", module+".mod", module+".sum"), flags, pkg),
		Make: func(out string) error {
			return b.run(tool{Dir: dir, Env: []string{"CGO_ENABLED=0"}},
				"go", "build", "-trimpath", "-modfile", module+".mod", "-ldflags", flags, "-o", filepath.Join(out, name), pkg)
		},
	}
}

// install has the arguments of one call of go install for packages of another module.
type install struct {
	gobin, tags, ldflags string
	env                  []string
	module, version      string
	packages             []string // relative to module
	modfile              string   // replaces the go.mod file of the module, unless empty
}

// runtime returns the recipe for containerd, runc and the CNI plugins. runc needs cgo for
// libseccomp. runc is linked statically, so that it runs on a root file system without libc.
func (b Builder) runtime() artefact.Recipe {
	const containerd = "github.com/containerd/containerd/v2"
	installs := []install{
		{
			gobin: "bin", tags: "no_btrfs no_devmapper no_zfs", env: []string{"CGO_ENABLED=0"},
			ldflags: "-s -w -X " + containerd + "/version.Version=" + b.Versions.containerd(),
			module:  containerd, version: b.Versions.containerd(),
			packages: []string{"./cmd/containerd", "./cmd/containerd-shim-runc-v2", "./cmd/ctr"},
		},
		{
			gobin: "bin", tags: "seccomp urfave_cli_no_docs netgo osusergo", env: []string{"CGO_ENABLED=1"},
			ldflags: "-s -w -extldflags -static -X main.version=" + runcVersion[1:],
			module:  "github.com/opencontainers/runc", version: runcVersion, packages: []string{"."},
		},
		{
			gobin: "cni", env: []string{"CGO_ENABLED=0"}, ldflags: "-s -w",
			module: "github.com/containernetworking/plugins", version: cniVersion,
			packages: []string{"./plugins/main/bridge", "./plugins/main/loopback", "./plugins/ipam/host-local"},
		},
	}
	r := artefact.Recipe{Name: "runtime", Make: func(out string) error {
		for _, i := range installs {
			if err := b.install(out, i); err != nil {
				return err
			}
		}
		return nil
	}}
	for _, i := range installs {
		r.Inputs = append(append(r.Inputs, i.tags, i.ldflags, i.module, i.version), i.packages...)
	}
	return r
}

// install builds packages of another module, with the dependencies in the go.mod file of that
// module. The shorter command go install PACKAGE@VERSION refuses modules, such as containerd 2.0,
// whose go.mod files have exclude directives. The flag -mod=readonly makes go ignore the module's
// directory vendor, of which the module proxy provides only a part.
func (b Builder) install(out string, i install) error {
	dir, err := b.download(i.module + "@" + i.version)
	if err != nil {
		return err
	}
	argv := []string{"go", "install", "-mod=readonly", "-trimpath", "-tags", i.tags, "-ldflags", i.ldflags}
	if i.modfile != "" {
		argv = append(argv, "-modfile", i.modfile)
	}
	return b.run(tool{Dir: dir, Env: append(i.env, "GOBIN="+filepath.Join(out, i.gobin))}, append(argv, i.packages...)...)
}

// download downloads a module into Go's module cache, and returns its directory there.
func (b Builder) download(module string) (dir string, err error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Stderr = b.Log
	out, err := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if parsed := json.Unmarshal(out, &downloaded); parsed != nil || downloaded.Dir == "" {
		return "", fmt.Errorf("download %s: %w: %s", module, errors.Join(err, parsed), downloaded.Error)
	}
	return downloaded.Dir, nil
}
