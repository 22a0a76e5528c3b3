package sysfs_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// TestBrokenFiles checks that Discover returns an error if a file cannot be parsed, and that the
// error has the file's name and text.
func TestBrokenFiles(t *testing.T) {
	const system = "sys/devices/system/"
	for name, tc := range map[string]struct {
		tree tree
		want []string
	}{
		"no CPU at all":    {tree{"node/node0/cpumap": "1"}, []string{"no online CPU", "mounted sysfs"}},
		"nothing online":   {tree{"cpu/cpu0/online": "0"}, []string{"no online CPU"}},
		"list of online":   {tree{"cpu/online": "0-"}, []string{system + "cpu/online", `"0-"`}},
		"package":          {one().with(tree{"cpu/cpu0/topology/physical_package_id": "zero"}), []string{system + "cpu/cpu0/topology/physical_package_id", `"zero"`}},
		"die":              {one().with(tree{"cpu/cpu0/topology/die_id": "0x1"}), []string{"die_id", `"0x1"`}},
		"core mask":        {one().with(tree{"cpu/cpu0/topology/core_cpus": "xyz"}), []string{"core_cpus", `"xyz"`}},
		"sibling list":     {one().with(tree{"cpu/cpu0/topology/thread_siblings_list": "3-1"}), []string{"thread_siblings_list", "backwards"}},
		"cache level":      {one().with(tree{"cpu/cpu0/cache/index0/level": "L2"}), []string{"index0/level", `"L2"`}},
		"cache map":        {one().with(tree{"cpu/cpu0/cache/index0/level": "2", "cpu/cpu0/cache/index0/shared_cpu_map": "q"}), []string{"shared_cpu_map", `"q"`}},
		"isolated":         {one().with(tree{"cpu/isolated": "all"}), []string{"isolated", `"all"`}},
		"capacity":         {one().with(tree{"cpu/cpu0/cpu_capacity": "big"}), []string{"cpu_capacity", `"big"`}},
		"monitoring unit":  {one().with(tree{"sys/devices/cpu_core/cpus": "a"}), []string{"cpu_core/cpus"}},
		"online nodes":     {one().with(tree{"node/online": "0,x"}), []string{system + "node/online", `"x"`}},
		"possible nodes":   {one().with(tree{"node/possible": "?", "node/node0/distance": "10"}), []string{"node/possible"}},
		"node's CPUs":      {one().with(tree{"node/node0/cpumap": "no"}), []string{"node0/cpumap", `"no"`}},
		"distances":        {one().with(tree{"node/node0/distance": "10 near"}), []string{"node0/distance", `"near"`}},
		"memory":           {one().with(tree{"node/node0/meminfo": "Node 0 MemTotal: much kB"}), []string{"node0/meminfo", "much"}},
		"memory overflows": {one().with(tree{"node/node0/meminfo": "MemTotal: 18446744073709551615 kB"}), []string{"node0/meminfo"}},
		"huge pages":       {one().with(tree{"node/node0/hugepages/hugepages-2048kB/nr_hugepages": "some"}), []string{"nr_hugepages", `"some"`}},
		"memory of a GPU":  {one().with(tree{"proc/driver/nvidia/gpus/0:1:2.3/numa_status": "Node: last"}), []string{"numa_status", "last"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sysfs.Discover(tc.tree.fs())
			if err == nil {
				t.Fatal("Discover: no error")
			}
			for _, want := range append(tc.want, "discover topology: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// TestUnreadableFiles checks for each file that Discover returns an error if the file exists but
// cannot be read. It must not treat the file as missing.
func TestUnreadableFiles(t *testing.T) {
	whole := one().with(tree{
		"cpu/online": "0", "cpu/isolated": "", "cpu/cpu0/cpu_capacity": "1",
		"cpu/cpu0/topology/physical_package_id": "0", "cpu/cpu0/topology/die_id": "0",
		"cpu/cpu0/topology/core_cpus": "1", "cpu/cpu0/cache/index0/type": "Data",
		"cpu/cpu0/cache/index0/level": "1", "cpu/cpu0/cache/index0/shared_cpu_map": "1",
		"node/online": "0", "node/possible": "0", "node/node0/distance": "10",
		"node/node0/meminfo": "MemTotal: 1 kB",
		"node/node0/hugepages/hugepages-2048kB/nr_hugepages": "0",
		"sys/devices/cpu_core/cpus":                          "0",
		"sys/devices/cpu_atom/cpus":                          "",
		"proc/driver/nvidia/gpus/0000:01:00.0/numa_status":   "Node: 0",
	}).fs()
	for name, file := range whole {
		if file.Mode.IsDir() {
			continue
		}
		if _, err := sysfs.Discover(denied{whole, name}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Discover without permission to read %s: error %v", name, err)
		}
	}
}

// denied is a file system in which one file cannot be read.
type denied struct {
	fs.FS
	name string
}

func (d denied) Open(name string) (fs.File, error) {
	if name == d.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}
