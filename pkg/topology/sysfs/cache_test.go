package sysfs_test

import "testing"

func TestLastLevelCache(t *testing.T) {
	check(t, map[string]quirk{
		"the highest level, whatever the order of indexes": {
			tree: two().with(tree{
				"cpu/cpu0/cache/index0/level": "3", "cpu/cpu0/cache/index0/shared_cpu_map": "3",
				"cpu/cpu0/cache/index10/level": "2", "cpu/cpu0/cache/index10/shared_cpu_map": "1",
				"cpu/cpu1/cache/index2/level": "3", "cpu/cpu1/cache/index2/shared_cpu_map": "3",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc 0
cpu1 package -1 die -1 numa 0 core -1 llc 0
node0 cpus 0-1
`,
		},
		"instruction caches hold no data": {
			tree: two().with(tree{
				"cpu/cpu1/cache/index0/level": "1", "cpu/cpu1/cache/index0/type": "Data", "cpu/cpu1/cache/index0/shared_cpu_map": "2",
				"cpu/cpu1/cache/index1/level": "2", "cpu/cpu1/cache/index1/type": "Instruction", "cpu/cpu1/cache/index1/shared_cpu_map": "3",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc 1
node0 cpus 0-1
`,
		},
		"ia64: a cache that nobody shares is the core's": {
			tree: two().with(tree{
				"cpu/cpu0/topology/thread_siblings": "3", "cpu/cpu0/cache/index0/level": "3",
				"cpu/cpu0/cache/index0/shared_cpu_map": "00000000",
				"cpu/cpu1/topology/thread_siblings":    "3", "cpu/cpu1/cache/index0/level": "3",
				"cpu/cpu1/cache/index0/shared_cpu_map": "00000000",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core 0 llc 0
cpu1 package -1 die -1 numa 0 core 0 llc 0
node0 cpus 0-1
`,
		},
		"caches that tell no level, or not who shares them": {
			tree: one().with(tree{
				"cpu/cpu0/cache/index0/type": "Data", "cpu/cpu0/cache/index0/shared_cpu_map": "1",
				"cpu/cpu0/cache/index1/type": "Unified", "cpu/cpu0/cache/index1/level": "2",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0
`,
		},
		"CPUs that contradict each other: neither is believed": {
			tree: tree{
				"cpu/online": "0-3", "node/node0/cpumap": "f",
				"cpu/cpu0/cache/index0/level": "3", "cpu/cpu0/cache/index0/shared_cpu_map": "3",
				"cpu/cpu1/cache/index0/level": "3", "cpu/cpu1/cache/index0/shared_cpu_map": "3",
				"cpu/cpu2/cache/index0/level": "3", "cpu/cpu2/cache/index0/shared_cpu_map": "c",
				"cpu/cpu3/cache/index0/level": "3", "cpu/cpu3/cache/index0/shared_cpu_map": "8",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc 0
cpu1 package -1 die -1 numa 0 core -1 llc 0
cpu2 package -1 die -1 numa 0 core -1 llc -1
cpu3 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0-3
note: CPUs 2-3 contradict each other about who shares their last-level cache: taken for unknown
`,
		},
		"offline CPUs share the cache": {
			tree: tree{
				"cpu/online": "1-2", "node/node0/cpumap": "7",
				"cpu/cpu1/cache/index3/level": "3", "cpu/cpu1/cache/index3/shared_cpu_map": "7",
				"cpu/cpu2/cache/index3/level": "3", "cpu/cpu2/cache/index3/shared_cpu_map": "7",
			},
			want: `
cpu1 package -1 die -1 numa 0 core -1 llc 1
cpu2 package -1 die -1 numa 0 core -1 llc 1
node0 cpus 1-2
`,
		},
	})
}
