package sysfs_test

import (
	"testing"

	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/topology/sysfs"
)

// FuzzDiscover checks that Discover, for files with any text, returns either an error or a
// consistent machine. It varies the contents of those files that have a list or mask of CPUs or
// nodes, distances, memory sizes, or the NUMA node of a GPU.
func FuzzDiscover(f *testing.F) {
	f.Add("0-3", "f", "0-1", "10 21", "Node 0 MemTotal: 16 kB", "Node: 1")
	f.Add("0,2", "00000001,00000005", "1", "10", "MemTotal:1", "Node:")
	f.Add("0-1\x00", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, online, mask, nodes, distance, meminfo, gpu string) {
		m, err := sysfs.Discover(tree{
			"cpu/online":                            online,
			"cpu/cpu0/topology/core_cpus":           mask,
			"cpu/cpu1/topology/core_cpus_list":      online,
			"cpu/cpu0/cache/index0/level":           "2",
			"cpu/cpu0/cache/index0/shared_cpu_map":  mask,
			"node/online":                           nodes,
			"node/node0/cpumap":                     mask,
			"node/node0/distance":                   distance,
			"node/node0/meminfo":                    meminfo,
			"proc/driver/nvidia/gpus/0/numa_status": gpu,
		}.fs())
		if err != nil {
			return
		}
		consistent(t, m)
	})
}

// consistent checks what must be true of every machine. The IDs of CPUs ascend. The IDs of a CPU's
// core and cache are not larger than the CPU's own ID, and the ID of the core is that of an online
// CPU. A CPU's NUMA node lists the CPU, and lists only online CPUs.
func consistent(t *testing.T, machine *topology.Machine) {
	t.Helper()
	online := machine.Online()
	for i, cpu := range machine.CPUs {
		if i > 0 && machine.CPUs[i-1].ID >= cpu.ID {
			t.Errorf("cpu%d follows cpu%d", cpu.ID, machine.CPUs[i-1].ID)
		}
		if cpu.Core > cpu.ID || cpu.LLC > cpu.ID || cpu.Core != topology.Unknown && !online.Has(cpu.Core) {
			t.Errorf("cpu%d has core %d and last-level cache %d", cpu.ID, cpu.Core, cpu.LLC)
		}
		if node := machine.Node(cpu.NUMA); node != nil && !node.CPUs.Has(cpu.ID) {
			t.Errorf("cpu%d is on node%d, which has %s", cpu.ID, node.ID, node.CPUs)
		}
	}
	for _, numaNode := range machine.Nodes {
		if !numaNode.CPUs.SubsetOf(online) {
			t.Errorf("node%d has offline CPUs: %s", numaNode.ID, numaNode.CPUs)
		}
	}
}
