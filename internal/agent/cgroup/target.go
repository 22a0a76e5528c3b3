package cgroup

import (
	"fmt"
	"path"
	"strings"
)

// location is where a cgroup is: its path below the mount point of cgroups, and its systemd unit.
// With the cgroupfs driver, unit is "".
type location struct{ path, unit string }

// parent returns the location of the parent cgroup. For a container's cgroup, that is the pod's cgroup.
func (l location) parent() location {
	up := location{path: path.Dir(l.path)}
	if base := path.Base(up.path); isUnitName(base) {
		up.unit = base
	}
	return up
}

// locate returns the location of a cgroup. The argument `target` is in one of the forms that the
// OCI runtime spec and NRI use:
//
//	/kubepods/burstable/pod<uid>/<id>                    cgroupfs: the path itself
//	kubepods-burstable-pod<uid>.slice:cri-containerd:<id> systemd: slice:prefix:name
//	kubepods-burstable-pod<uid>.slice                     systemd: a pod
//	/kubepods.slice/…/cri-containerd-<id>.scope           systemd: as Pods returns it
//
// Source: https://github.com/opencontainers/runc/blob/main/docs/systemd.md.
func locate(target string) (location, error) {
	slice, scope, isUnit := strings.Cut(target, ":")
	switch {
	case target == "" || path.Clean(target) != target || strings.Contains(target, ".."):
		return location{}, fmt.Errorf("%q is not a cgroups path", target)
	case isUnit:
		return locateScope(target, slice, scope)
	case strings.HasSuffix(target, ".slice") && !strings.Contains(target, "/"):
		dir, err := sliceDir(target)
		return location{dir, target}, err
	}
	p := path.Join("/", target)
	if base := path.Base(p); isUnitName(base) {
		return location{p, base}, nil
	}
	return location{p, ""}, nil
}

func locateScope(target, slice, scope string) (location, error) {
	prefix, name, ok := strings.Cut(scope, ":")
	if !ok || name == "" || strings.ContainsAny(scope, "/") {
		return location{}, fmt.Errorf("%q is not of the form slice:prefix:name", target)
	}
	dir, err := sliceDir(slice)
	if err != nil {
		return location{}, err
	}
	unit := name + ".scope"
	if prefix != "" {
		unit = prefix + "-" + unit
	}
	return location{path.Join(dir, unit), unit}, nil
}

// sliceDir returns the cgroup directory of a systemd slice. Each dash in the name stands for one
// directory level, so the directory of "a-b.slice" is "/a.slice/a-b.slice". Source:
// systemd.slice(5).
func sliceDir(slice string) (string, error) {
	name, ok := strings.CutSuffix(slice, ".slice")
	if !ok || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q is not the name of a systemd slice", slice)
	}
	dir := "/"
	for i, r := range name + "-" {
		if r == '-' {
			dir = path.Join(dir, name[:i]+".slice")
		}
	}
	return dir, nil
}

func isUnitName(base string) bool {
	return strings.HasSuffix(base, ".scope") || strings.HasSuffix(base, ".slice")
}
