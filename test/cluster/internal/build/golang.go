package build

import (
	"path/filepath"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
)

func (b Builder) kubeone() artefact.Recipe { return b.kubernetes("kubeone", ".") }

func (b Builder) kubectl() artefact.Recipe {
	return b.kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl")
}

// kubernetes returns the recipe for one command of the module kubeone, from which the cluster's
// Kubernetes programs are built. The go.mod file pins all modules of Kubernetes to one version.
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

// install has the arguments of one call of go install for packages of modules other than this one.
type install struct {
	gobin, tags, ldflags string
	env                  []string
	packages             []string
}

// runtime returns the recipe for containerd, runc and the CNI plugins. runc needs cgo for
// libseccomp. runc is linked statically, so that it runs on a root file system without libc.
func (b Builder) runtime() artefact.Recipe {
	const containerd = "github.com/containerd/containerd/v2"
	const plugins = "github.com/containernetworking/plugins/plugins/"
	installs := []install{
		{
			gobin: "bin", tags: "no_btrfs no_devmapper no_zfs", env: []string{"CGO_ENABLED=0"},
			ldflags: "-s -w -X " + containerd + "/version.Version=" + b.Versions.containerd(),
			packages: at(b.Versions.containerd(), containerd+"/cmd/containerd", containerd+"/cmd/containerd-shim-runc-v2",
				containerd+"/cmd/ctr"),
		},
		{
			gobin: "bin", tags: "seccomp urfave_cli_no_docs netgo osusergo", env: []string{"CGO_ENABLED=1"},
			ldflags:  "-s -w -extldflags -static -X main.version=" + runcVersion[1:],
			packages: at(runcVersion, "github.com/opencontainers/runc"),
		},
		{
			gobin: "cni", env: []string{"CGO_ENABLED=0"}, ldflags: "-s -w",
			packages: at(cniVersion, plugins+"main/bridge", plugins+"main/loopback", plugins+"ipam/host-local"),
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
		r.Inputs = append(append(r.Inputs, i.tags, i.ldflags), i.packages...)
	}
	return r
}

func (b Builder) install(out string, i install) error {
	argv := append([]string{"go", "install", "-trimpath", "-tags", i.tags, "-ldflags", i.ldflags}, i.packages...)
	return b.run(tool{Dir: out, Env: append(i.env, "GOBIN="+filepath.Join(out, i.gobin))}, argv...)
}

func at(version string, packages ...string) []string {
	pinned := make([]string, len(packages))
	for n, p := range packages {
		pinned[n] = p + "@" + version
	}
	return pinned
}
