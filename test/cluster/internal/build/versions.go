package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Versions are the minor versions of Kubernetes and containerd that a cluster runs, such as 1.36
// and 2.4. For each minor version, kubernetesVersions and containerdVersions have one patch
// version. It is the newest one for which, when the tables were written, the Go module proxy had
// all modules that the build needs.
type Versions struct{ Kubernetes, Containerd string }

// kubernetesVersions are the Kubernetes versions that the program `rig` can build, by minor version.
// The directory kubeone has a file v1.NN.mod and a file v1.NN.sum for each, except for the default
// version, which has go.mod and go.sum.
var kubernetesVersions = map[string]string{
	"1.34": "v1.34.4",
	"1.35": "v1.35.4",
	"1.36": "v1.36.3",
	"1.37": "v1.37.2",
}

// containerdVersions are the containerd versions that the program `rig` can build, by minor version.
var containerdVersions = map[string]string{
	"2.0": "v2.0.14",
	"2.2": "v2.2.9",
	"2.4": "v2.4.2",
}

// Versions of the programs besides Kubernetes and containerd that are built from the Go module
// proxy.
const (
	runcVersion = "v1.5.2"
	cniVersion  = "v1.9.1"
	crioVersion = "v1.36.1"
)

// DefaultVersions returns the versions that a cluster runs if the user names no other versions.
func DefaultVersions() Versions { return Versions{Kubernetes: "1.36", Containerd: "2.4"} }

// Check replaces empty versions with the defaults. It returns an error for versions that the
// program `rig` cannot build.
func (v Versions) Check() (Versions, error) {
	d := DefaultVersions()
	if v.Kubernetes == "" {
		v.Kubernetes = d.Kubernetes
	}
	if v.Containerd == "" {
		v.Containerd = d.Containerd
	}
	if err := built("Kubernetes", kubernetesVersions, v.Kubernetes); err != nil {
		return v, err
	}
	return v, built("containerd", containerdVersions, v.Containerd)
}

func built(program string, versions map[string]string, minor string) error {
	if versions[minor] != "" {
		return nil
	}
	return fmt.Errorf("no %s %q: there is %s", program, minor, strings.Join(slices.Sorted(maps.Keys(versions)), ", "))
}

// kubernetes returns the full version of Kubernetes, such as v1.36.3.
func (v Versions) kubernetes() string { return kubernetesVersions[v.Kubernetes] }

// containerd returns the full version of containerd, such as v2.4.2.
func (v Versions) containerd() string { return containerdVersions[v.Containerd] }

// module returns the name, without extension, of the .mod and .sum files that pin all modules of
// Kubernetes. Each version has files of its own, because one module cannot require two versions of
// Kubernetes.
func (v Versions) module() string {
	if v.Kubernetes == DefaultVersions().Kubernetes {
		return "go"
	}
	return "v" + v.Kubernetes
}

// flags returns the linker flags that set the version that Kubernetes reports. Without them, the
// programs report v0.0.0-master.
func (v Versions) flags() string {
	_, minor, _ := strings.Cut(v.Kubernetes, ".")
	return "-s -w -X k8s.io/component-base/version.gitVersion=" + v.kubernetes() +
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=" + minor +
		" -X k8s.io/component-base/version.gitTreeState=clean"
}
