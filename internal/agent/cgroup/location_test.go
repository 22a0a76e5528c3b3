package cgroup

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

// delegated is a fake cgroup tree. It refuses writes to one cgroup, whose path is in the field
// `own`. The kernel does the same for the root of a process's own cgroup namespace.
type delegated struct {
	tree
	own     string
	written map[string]string // path to CPUs
}

func (d delegated) confine(path string, cpus, _ cpuset.Set) error {
	if path == d.own {
		return fmt.Errorf("write cpuset.cpus: %w", fs.ErrPermission)
	}
	d.written[path] = cpus.String()
	return nil
}

func TestConfineOwnContainerByItsPod(t *testing.T) {
	for name, tc := range map[string]struct {
		at, want location
	}{
		"another container": {location{"/kubepods/pod1/c1", ""}, location{"/kubepods/pod1/c1", ""}},
		"cgroupfs":          {location{"/kubepods/pod1/own", ""}, location{"/kubepods/pod1", ""}},
		"systemd": {
			location{"/kubepods.slice/kubepods-pod1.slice/own", "own"},
			location{"/kubepods.slice/kubepods-pod1.slice", "kubepods-pod1.slice"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := delegated{written: map[string]string{}}
			if tc.at != tc.want {
				d.own = tc.at.path
			}
			got, err := confineOrParent(d, tc.at, cpuset.MustParse("0-3"), cpuset.Set{})
			if err != nil || got != tc.want {
				t.Errorf("confine = %v, %v; want %v", got, err, tc.want)
			}
			if diff := cmp.Diff(map[string]string{tc.want.path: "0-3"}, d.written); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}
