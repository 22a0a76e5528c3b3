package cgroup

import (
	"errors"
	"io/fs"
	"path"

	"github.com/numalet/numalet/pkg/cpuset"
)

// confine writes a container's cgroup, or its pod's where the kernel refuses
// the former, and returns which. It refuses one: where cgroups are mounted with
// nsdelegate, as systemd does it, a process may not write the root of its own
// cgroup namespace, which is the container that the agent runs in. Its pod's
// cgroup confines it just as well.
// Source: https://github.com/torvalds/linux/blob/v6.12/kernel/cgroup/cgroup.c, cgroup_file_write.
func confine(t tree, at place, cpus, mems cpuset.Set) (place, error) {
	err := t.confine(at.path, cpus, mems)
	if errors.Is(err, fs.ErrPermission) {
		at = at.parent()
		err = t.confine(at.path, cpus, mems)
	}
	return at, err
}

// parent returns the cgroup above: of a container, its pod's.
func (p place) parent() place {
	up := place{path: path.Dir(p.path)}
	if base := path.Base(up.path); isUnitName(base) {
		up.unit = base
	}
	return up
}
