package sysfs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// The function `one` returns the files of a machine with one CPU. The package, core and cache of
// this CPU are not reported.
func one() tree { return tree{"cpu/cpu0/": "", "node/node0/cpumap": "1"} }

// The function `two` returns the files of a machine with two online CPUs. The packages, cores and
// caches of these CPUs are not reported.
func two() tree {
	return tree{"cpu/online": "0-1", "cpu/cpu0/": "", "cpu/cpu1/": "", "node/node0/cpumap": "3"}
}

func TestCPUs(t *testing.T) {
	check(t, map[string]quirk{
		"Linux 5.3 and later: core_cpus": {
			tree: two().with(tree{
				"cpu/cpu0/topology/physical_package_id": "0", "cpu/cpu0/topology/die_id": "1",
				"cpu/cpu0/topology/core_cpus": "3", "cpu/cpu0/topology/thread_siblings": "1",
				"cpu/cpu1/topology/physical_package_id": "0", "cpu/cpu1/topology/die_id": "1",
				"cpu/cpu1/topology/core_cpus": "3", "cpu/cpu1/topology/thread_siblings": "2",
			}),
			want: `
cpu0 package 0 die 1 numa 0 core 0 llc -1
cpu1 package 0 die 1 numa 0 core 0 llc -1
node0 cpus 0-1
`,
		},
		"before Linux 5.3: thread_siblings, no die": {
			tree: two().with(tree{
				"cpu/cpu0/topology/physical_package_id": "0", "cpu/cpu0/topology/thread_siblings": "3",
				"cpu/cpu1/topology/physical_package_id": "0", "cpu/cpu1/topology/thread_siblings": "3",
			}),
			want: `
cpu0 package 0 die -1 numa 0 core 0 llc -1
cpu1 package 0 die -1 numa 0 core 0 llc -1
node0 cpus 0-1
`,
		},
		"lists without masks": {
			tree: tree{
				"cpu/online":                            "0,64",
				"cpu/cpu0/topology/core_cpus_list":      "0,64",
				"cpu/cpu64/topology/core_cpus_list":     "0,64",
				"cpu/cpu0/cache/index0/level":           "2",
				"cpu/cpu0/cache/index0/shared_cpu_list": "0,64",
				"node/node0/cpulist":                    "0,64",
			},
			want: `
cpu0 package -1 die -1 numa 0 core 0 llc 0
cpu64 package -1 die -1 numa 0 core 0 llc -1
node0 cpus 0,64
`,
		},
		"before Linux 2.6.24: every CPU says whether it is online": {
			tree: tree{
				"cpu/cpu0/": "", "cpu/cpu1/online": "0", "cpu/cpu2/online": "1",
				"node/node0/cpumap": "7",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 offline
cpu2 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0,2
`,
		},
		"siblings and nodes list offline CPUs; offline CPUs keep old files": {
			tree: tree{
				"cpu/online":                  "1",
				"cpu/cpu0/topology/core_cpus": "3", "cpu/cpu0/topology/physical_package_id": "0",
				"cpu/cpu1/topology/core_cpus": "3", "cpu/cpu1/topology/physical_package_id": "0",
				"node/node0/cpumap": "3",
			},
			want: `
cpu0 offline
cpu1 package 0 die -1 numa 0 core 1 llc -1
node0 cpus 1
`,
		},
		"core_id repeats across dies of a package: not asked": {
			tree: two().with(tree{
				"cpu/cpu0/topology/core_id": "0", "cpu/cpu0/topology/thread_siblings": "1",
				"cpu/cpu1/topology/core_id": "0", "cpu/cpu1/topology/thread_siblings": "2",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core 0 llc -1
cpu1 package -1 die -1 numa 0 core 1 llc -1
node0 cpus 0-1
`,
		},
		"POWER and s390: package -1, signed and unsigned": {
			tree: two().with(tree{
				"cpu/cpu0/topology/physical_package_id": "-1",
				"cpu/cpu1/topology/physical_package_id": "4294967295",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0-1
`,
		},
		"a trailing NUL, as old kernels wrote": {
			tree: one().with(tree{
				"cpu/online": "0\n\x00", "cpu/cpu0/topology/core_cpus": "00000001\n\x00",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core 0 llc -1
node0 cpus 0
`,
		},
		"siblings without the CPU itself": {
			tree: two().with(tree{
				"cpu/cpu0/topology/core_cpus": "1", "cpu/cpu1/topology/core_cpus": "1",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core 0 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0-1
note: cpu1 says that its core is that of CPUs 0, without itself: taken for unknown
note: CPUs 1 do not tell their core, as others do: each is taken for a core of its own
`,
		},
		"an online CPU without a directory": {
			tree: tree{"cpu/online": "0-1", "cpu/cpu0/": "", "node/node0/cpumap": "3"},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0-1
`,
		},
		"neighbours of cpuN that are no CPU": {
			tree: one().with(tree{"cpu/cpufreq/": "", "cpu/cpu-1/": "", "cpu/cpu99999/": "", "cpu/cpu0x/": ""}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0
`,
		},
		"isolcpus=1": {
			tree: two().with(tree{"cpu/isolated": "1"}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1 isolated
node0 cpus 0-1
`,
		},
		"hybrid x86: two monitoring units": {
			tree: two().with(tree{"sys/devices/cpu_core/cpus": "0", "sys/devices/cpu_atom/cpus": "1"}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1 performance
cpu1 package -1 die -1 numa 0 core -1 llc -1 efficiency
node0 cpus 0-1
`,
		},
		"hybrid x86: three monitoring units": {
			tree: tree{
				"cpu/online": "0-2", "node/node0/cpumap": "7", "sys/devices/cpu_core/cpus": "0",
				"sys/devices/cpu_atom/cpus": "1", "sys/devices/cpu_lowpower/cpus": "2",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1 performance
cpu1 package -1 die -1 numa 0 core -1 llc -1 efficiency
cpu2 package -1 die -1 numa 0 core -1 llc -1 efficiency
node0 cpus 0-2
`,
		},
		"hybrid Arm: capacity": {
			tree: tree{
				"cpu/online": "0-3", "node/node0/cpumap": "f",
				"cpu/cpu0/cpu_capacity": "718", "cpu/cpu1/cpu_capacity": "731",
				"cpu/cpu2/cpu_capacity": "997", "cpu/cpu3/cpu_capacity": "1024",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1 efficiency
cpu1 package -1 die -1 numa 0 core -1 llc -1 efficiency
cpu2 package -1 die -1 numa 0 core -1 llc -1 performance
cpu3 package -1 die -1 numa 0 core -1 llc -1 performance
node0 cpus 0-3
`,
		},
		"one kind of core, slightly different speeds": {
			tree: two().with(tree{"cpu/cpu0/cpu_capacity": "1000", "cpu/cpu1/cpu_capacity": "1024"}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0-1
`,
		},
	})
}

// quirk has a machine's files (tree), and the machine that Discover must return for them (want).
// The machine is written as text, in the format of the function `describe`.
type quirk struct {
	tree tree
	want string
}

func check(t *testing.T, quirks map[string]quirk) {
	t.Helper()
	for name, tc := range quirks {
		t.Run(name, func(t *testing.T) {
			m, err := sysfs.Discover(tc.tree.fs())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), describe(m)); diff != "" {
				t.Errorf("Discover (-want +got):\n%s", diff)
			}
		})
	}
}
