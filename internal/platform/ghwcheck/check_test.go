package ghwcheck

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

func TestCompare(t *testing.T) {
	machine := machinetest.Machine(2, 1).SMT(2).Build()
	agreed := ghwMachine{
		nodes: map[topology.NodeID]cpuset.Set{0: cpuset.Of(0, 2), 1: cpuset.Of(1, 3)},
		cores: []cpuset.Set{cpuset.Of(0, 2), cpuset.Of(1, 3)},
	}
	for name, tc := range map[string]struct {
		change func(v *ghwMachine)
		want   []string
	}{
		"agreed":       {change: func(*ghwMachine) {}},
		"no nodes":     {change: func(v *ghwMachine) { v.nodes = nil }, want: []string{"ghw sees 0 NUMA nodes, sysfs 2 (sysfs is believed)"}},
		"merged cores": {change: func(v *ghwMachine) { v.cores = []cpuset.Set{cpuset.Of(0, 1, 2, 3)} }, want: []string{"ghw takes CPUs 0-3 for one core, sysfs does not (sysfs is believed)"}},
		"other CPUs":   {change: func(v *ghwMachine) { v.nodes = map[topology.NodeID]cpuset.Set{0: cpuset.Of(0), 1: cpuset.Of(1, 3)} }, want: []string{`ghw sees CPUs "0" on NUMA node 0, sysfs "0,2" (sysfs is believed)`}},
	} {
		t.Run(name, func(t *testing.T) {
			v := agreed
			tc.change(&v)
			if diff := cmp.Diff(tc.want, compare(machine, v)); diff != "" {
				t.Errorf("compare (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDifferencesOnAMachineWithoutHugetlb checks that ghw finds no NUMA node and returns no error
// if an optional file is missing. This is a reason why Numalet reads sysfs itself. If ghw is
// improved, this test fails, and the reason no longer holds.
func TestDifferencesOnAMachineWithoutHugetlb(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"proc/meminfo":                  "MemTotal: 9999999 kB\nMemFree: 4096 kB\nMemAvailable: 4096 kB\n", // a different amount of memory causes no warning
		"proc/cpuinfo":                  "processor : 0\nphysical id : 0\ncore id : 0\n\n",
		"sys/devices/system/cpu/online": "0",
		"sys/devices/system/cpu/cpu0/topology/core_id":             "0",
		"sys/devices/system/cpu/cpu0/topology/physical_package_id": "0",
		"sys/devices/system/cpu/cpu0/topology/thread_siblings":     "1",
		"sys/devices/system/node/node0/cpulist":                    "0",
		"sys/devices/system/node/node0/distance":                   "10",
		"sys/devices/system/node/node0/meminfo":                    "Node 0 MemTotal: 4096 kB\n",
		"sys/devices/system/node/node0/cpu0/topology/core_id":      "0",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	machine := &topology.Machine{
		CPUs:  []topology.CPU{{Online: true}},
		Nodes: []topology.Node{{CPUs: cpuset.Of(0), MemoryBytes: 4096 << 10}},
	}
	want := []string{"ghw sees 0 NUMA nodes, sysfs 1 (sysfs is believed)"}
	if diff := cmp.Diff(want, Differences(machine, root)); diff != "" {
		t.Errorf("Differences (-want +got):\n%s", diff)
	}
}
