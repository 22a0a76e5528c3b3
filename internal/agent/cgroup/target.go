package cgroup

import (
	"fmt"
	"path"
	"strings"
)

// place is where a target is: its path below the mount point, and its systemd
// unit, "" under the cgroupfs driver.
type place struct{ path, unit string }

// locate reads a cgroups path as the OCI runtime spec and NRI hand it over:
//
//	/kubepods/burstable/pod<uid>/<id>                    cgroupfs: the path itself
//	kubepods-burstable-pod<uid>.slice:cri-containerd:<id> systemd: slice:prefix:name
//	kubepods-burstable-pod<uid>.slice                     systemd: a pod
//	/kubepods.slice/…/cri-containerd-<id>.scope           systemd: as Containers returns it
//
// Source: https://github.com/opencontainers/runc/blob/main/docs/systemd.md.
func locate(target string) (place, error) {
	slice, scope, isUnit := strings.Cut(target, ":")
	switch {
	case target == "" || path.Clean(target) != target || strings.Contains(target, ".."):
		return place{}, fmt.Errorf("%q is not a cgroups path", target)
	case isUnit:
		return locateScope(target, slice, scope)
	case strings.HasSuffix(target, ".slice") && !strings.Contains(target, "/"):
		dir, err := sliceDir(target)
		return place{dir, target}, err
	}
	p := path.Join("/", target)
	if base := path.Base(p); isUnitName(base) {
		return place{p, base}, nil
	}
	return place{p, ""}, nil
}

func locateScope(target, slice, scope string) (place, error) {
	prefix, name, ok := strings.Cut(scope, ":")
	if !ok || name == "" || strings.ContainsAny(scope, "/") {
		return place{}, fmt.Errorf("%q is not of the form slice:prefix:name", target)
	}
	dir, err := sliceDir(slice)
	if err != nil {
		return place{}, err
	}
	unit := name + ".scope"
	if prefix != "" {
		unit = prefix + "-" + unit
	}
	return place{path.Join(dir, unit), unit}, nil
}

// sliceDir returns the directory of a slice: a dash stands for a level, so
// "a-b.slice" is "/a.slice/a-b.slice". Source: systemd.slice(5).
func sliceDir(slice string) (string, error) {
	name, ok := strings.CutSuffix(slice, ".slice")
	if !ok || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q is not a slice", slice)
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
