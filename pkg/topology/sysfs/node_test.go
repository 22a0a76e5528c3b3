package sysfs_test

import (
	"strings"
	"testing"
)

func TestNodes(t *testing.T) {
	// four has the files of a machine with four online CPUs, whose packages, cores and caches are
	// not reported.
	four := tree{"cpu/online": "0-3"}
	const cpus = `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
cpu2 package -1 die -1 numa 8 core -1 llc -1
cpu3 package -1 die -1 numa 8 core -1 llc -1
`
	check(t, map[string]quirk{
		"ids are sparse, distances are positional": {
			tree: four.with(tree{
				"node/online":       "0,8,252",
				"node/node0/cpumap": "3", "node/node0/distance": "10 40 80",
				"node/node8/cpumap": "c", "node/node8/distance": "40 10 80",
				"node/node252/cpumap": "0", "node/node252/distance": "80 80 10",
			}),
			want: cpus + `node0 cpus 0-1 to 0: 10 to 8: 40 to 252: 80
node8 cpus 2-3 to 0: 40 to 8: 10 to 252: 80
node252 cpus  to 0: 80 to 8: 80 to 252: 10
`,
		},
		"no list of online nodes: the directories tell, by number": {
			tree: four.with(tree{
				"node/node10/cpumap": "0", "node/node8/cpumap": "c", "node/node0/cpumap": "3",
				"node/node10/distance": "1 2 3", "node/has_cpu": "0,8",
			}),
			want: cpus + `node0 cpus 0-1
node8 cpus 2-3
node10 cpus  to 0: 1 to 8: 2 to 10: 3
`,
		},
		"memory, huge pages, a node with memory only, the memory of a GPU": {
			tree: four.with(tree{
				"node/online": "0,8,9,255", "node/node0/cpumap": "3", "node/node8/cpumap": "c",
				"node/node9/cpumap": "0", "node/node255/cpumap": "0",
				"node/node0/meminfo": "\nNode 0 MemTotal:       1 kB\nNode 0 MemFree: 0 kB\nNode 0 HugePages_Total:     7",
				"node/node0/hugepages/hugepages-1048576kB/nr_hugepages": "1",
				"node/node0/hugepages/hugepages-2048kB/nr_hugepages":    "512",
				"node/node9/meminfo": "Node 9 MemTotal: 2 kB",
				"proc/driver/nvidia/gpus/0004:04:00.0/numa_status": "Node:      255\nStatus:    online",
				"proc/driver/nvidia/gpus/0004:05:00.0/numa_status": "Node:      -1\nStatus:    disabled",
			}),
			want: cpus + `node0 cpus 0-1 1024 bytes 512 of 2097152 bytes 1 of 1073741824 bytes
node8 cpus 2-3
node9 cpus  2048 bytes
node255 cpus  gpu 0004:04:00.0
`,
		},
		"what the kernel keeps of two zones, the first of which is all kept": {
			tree: four.with(tree{
				"node/online": "0", "node/node0/cpumap": "f", "node/node0/meminfo": "Node 0 MemTotal: 8000 kB",
				"proc/zoneinfo": `Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 35533
  pages free     500
        boost    0
        min      21
        high     31
        managed  500
        protection: (0, 0, 1000)
Node 0, zone   Normal
  pages free     974771
        high     100
        managed  1500
        protection: (0, 0, 0)
  pagesets
    cpu: 0
              count: 4
              high:  378
Node 1, zone   Normal
        high     7
`,
			}),
			want: strings.ReplaceAll(cpus, "numa 8", "numa 0") + "node0 cpus 0-3 8192000 bytes kernel 2457600\n",
		},
		"no NUMA: the machine is one node": {
			tree: tree{
				"cpu/online": "0-1", "cpu/cpu2/": "",
				"proc/meminfo": "MemTotal:       4 kB\nMemFree:  1 kB",
				"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "3",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
cpu2 offline
node0 cpus 0-1 4096 bytes 3 of 2097152 bytes to 0: 10
`,
		},
		"overlapping nodes of one size: the first keeps what both list": {
			tree: tree{
				"cpu/online": "0-2", "node/node0/cpumap": "3", "node/node1/cpumap": "6",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
cpu2 package -1 die -1 numa 1 core -1 llc -1
node0 cpus 0-1
node1 cpus 2
note: CPUs 1 are in several NUMA nodes: each is taken for one of the smallest of these
`,
		},
		"a node beside all CPUs (a tier of memory): the smallest node has them": {
			tree: four.with(tree{
				"node/node0/cpumap": "f", "node/node8/cpumap": "3", "node/node9/cpumap": "c",
			}),
			want: `
cpu0 package -1 die -1 numa 8 core -1 llc -1
cpu1 package -1 die -1 numa 8 core -1 llc -1
cpu2 package -1 die -1 numa 9 core -1 llc -1
cpu3 package -1 die -1 numa 9 core -1 llc -1
node0 cpus 
node8 cpus 0-1
node9 cpus 2-3
note: CPUs 0-3 are in several NUMA nodes: each is taken for one of the smallest of these
`,
		},
		"two nodes with the same CPUs (two kinds of memory): the first has them": {
			tree: four.with(tree{
				"node/node0/cpumap": "f", "node/node1/cpumap": "f",
			}),
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa 0 core -1 llc -1
cpu2 package -1 die -1 numa 0 core -1 llc -1
cpu3 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0-3
node1 cpus 
note: CPUs 0-3 are in several NUMA nodes: each is taken for one of the smallest of these
`,
		},
		"offline CPUs are in several nodes": {
			tree: tree{
				"cpu/online": "0,2", "node/node0/cpumap": "3", "node/node1/cpumap": "6",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu2 package -1 die -1 numa 1 core -1 llc -1
node0 cpus 0
node1 cpus 2
`,
		},
		"a node that is online has no directory": {
			tree: tree{
				"cpu/online": "0-1", "node/online": "0-1", "node/node0/cpumap": "1", "node/node0/distance": "10 21",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
cpu1 package -1 die -1 numa -1 core -1 llc -1
node0 cpus 0 to 0: 10
note: the online nodes [1] have no directory: left out
note: CPUs 1 are in no NUMA node
`,
		},
		"no node has a directory: the machine is one": {
			tree: tree{"cpu/online": "0", "node/online": "0", "node/possible": "0-1"},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0 to 0: 10
note: none of the online nodes [0] has a directory: taken for a machine without NUMA
`,
		},
		"a node is offline, the distances still count it": {
			tree: tree{
				"cpu/online": "0-1", "node/online": "1", "node/possible": "0-1",
				"node/node1/cpumap": "2", "node/node1/distance": "21 10",
			},
			want: `
cpu0 package -1 die -1 numa -1 core -1 llc -1
cpu1 package -1 die -1 numa 1 core -1 llc -1
node1 cpus 1 to 1: 10
note: CPUs 0 are in no NUMA node
`,
		},
		"distances that fit no count of nodes": {
			tree: tree{
				"cpu/online": "0", "node/node0/cpumap": "1", "node/node0/distance": "10 20 30",
			},
			want: `
cpu0 package -1 die -1 numa 0 core -1 llc -1
node0 cpus 0
note: node0 tells 3 distances where 1 nodes are online: its distances are unknown
`,
		},
		"a node that does not list its CPUs": {
			tree: tree{"cpu/online": "0", "node/node0/meminfo": "Node 0 MemTotal: 1 kB"},
			want: `
cpu0 package -1 die -1 numa -1 core -1 llc -1
node0 cpus  1024 bytes
note: node0 does not list its CPUs: taken for a node without CPUs
note: CPUs 0 are in no NUMA node
`,
		},
		"a mask of three groups": {
			tree: tree{"cpu/online": "31,64-65", "node/node3/cpumap": "00000003,00000000,80000000"},
			want: `
cpu31 package -1 die -1 numa 3 core -1 llc -1
cpu64 package -1 die -1 numa 3 core -1 llc -1
cpu65 package -1 die -1 numa 3 core -1 llc -1
node3 cpus 31,64-65
`,
		},
	})
}
