package build

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/numalet/numalet/test/cluster/internal/artefact"
)

// debianPackagesOfCRIO are the Debian packages that nodes with CRI-O have in addition to those of
// other nodes with systemd. conmon is the parent of every container's first process. skopeo imports
// images. The other packages are their libraries. All packages are unpacked and not installed,
// because debootstrap cannot resolve all their dependencies. The list does not contain crun, which
// CRI-O uses by default. Debian 12 has crun 1.8.1, which does not accept the container specs of
// CRI-O 1.36.
func debianPackagesOfCRIO() []string {
	return []string{"conmon", "skopeo", "golang-github-containers-common", "libassuan0",
		"libdevmapper1.02.1", "libglib2.0-0", "libgpgme11"}
}

// pinnsFlags has the flags with which the C compiler builds pinns. Of the flags in CRI-O's own
// Makefile, only these matter.
const pinnsFlags = "-std=c99"

// crio returns the recipe for CRI-O and its program pinns, which creates the namespaces of pods.
func (b Builder) crio() artefact.Recipe {
	i := install{
		gobin: ".", tags: "containers_image_openpgp exclude_graphdriver_btrfs containers_image_ostree_stub seccomp",
		env: []string{"CGO_ENABLED=1"}, ldflags: "-s -w",
		module: "github.com/cri-o/cri-o", version: crioVersion,
		packages: []string{"./cmd/crio"},
	}
	sums := sources(filepath.Join(b.Source, "crio"), "kubernetes.sum")
	return artefact.Recipe{
		Name:   "crio",
		Inputs: append(sums, i.tags, i.ldflags, i.module, i.version, criAPI, pinnsFlags),
		Make: func(out string) error {
			dir, err := b.download(i.module + "@" + i.version)
			if err != nil {
				return err
			}
			temp, err := os.MkdirTemp("", "crio")
			if err != nil {
				return err
			}
			defer os.RemoveAll(temp)
			if i.modfile, err = b.crioModfile(temp, dir, sums[1]); err != nil {
				return err
			}
			if err := b.install(out, i); err != nil {
				return err
			}
			return b.pinns(out, dir)
		},
	}
}

// criAPI is the newest version of k8s.io/cri-api with which CRI-O v1.36.1 compiles.
const criAPI = "v0.36.0-rc.0"

// crioModfile copies CRI-O's go.mod and go.sum files from the module's directory to `temp`, and
// returns the path of the copied go.mod. In the copy, the Kubernetes modules have the versions in
// `sums`, whose lines are added to go.sum. CRI-O v1.36.1 requires release candidates of these
// modules. The Go module proxy does not have the release candidate of k8s.io/cri-client.
func (b Builder) crioModfile(temp, module, sums string) (string, error) {
	modfile := filepath.Join(temp, "go.mod")
	for name, added := range map[string]string{"go.mod": "", "go.sum": sums} {
		body, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(temp, name), append(body, added...), 0o644); err != nil {
			return "", err
		}
	}
	edit := []string{"go", "mod", "edit", "-replace=k8s.io/cri-api=k8s.io/cri-api@" + criAPI}
	for line := range strings.Lines(sums) {
		// Each module has two lines. The line for its go.mod file has a version that ends with
		// /go.mod.
		if f := strings.Fields(line); !strings.HasSuffix(f[1], "/go.mod") {
			edit = append(edit, "-require="+f[0]+"@"+f[1])
		}
	}
	return modfile, b.run(tool{}, append(edit, modfile)...)
}

func (b Builder) pinns(out, module string) error {
	files, err := filepath.Glob(filepath.Join(module, "pinns/src/*.c"))
	if err != nil {
		return err
	}
	return b.run(tool{}, append([]string{"gcc", pinnsFlags, "-Os", "-static", "-o", filepath.Join(out, "pinns")}, files...)...)
}
