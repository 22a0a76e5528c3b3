package picture_test

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

const gib = 1 << 30

// machine returns a machine with the given number of CPUs and the given NUMA nodes. The function
// given as `place` returns the package, NUMA node, core and cache of a CPU. The NUMA nodes get their
// CPUs from these results.
func machine(cpus int, place func(id int) topology.CPU, nodes ...topology.Node) *topology.Machine {
	m := &topology.Machine{Nodes: nodes}
	for id := range cpus {
		c := place(id)
		c.ID, c.Online = cpuset.CPU(id), true
		m.CPUs = append(m.CPUs, c)
		if n := m.Node(c.NUMA); n != nil {
			n.CPUs = n.CPUs.Union(cpuset.Of(c.ID))
		}
	}
	return m
}

// server returns a machine that has two packages with two NUMA nodes each, and two threads per
// core.
func server() *topology.Machine {
	near := func(rows ...int) map[topology.NodeID]int {
		return map[topology.NodeID]int{0: rows[0], 1: rows[1], 2: rows[2], 3: rows[3]}
	}
	return machine(16, func(id int) topology.CPU {
		core := id % 8
		return topology.CPU{
			Package: core / 4, NUMA: topology.NodeID(core / 2),
			Core: cpuset.CPU(core), LLC: cpuset.CPU(core / 2 * 2),
		}
	},
		topology.Node{ID: 0, MemoryBytes: 64 * gib, Distances: near(10, 12, 20, 20), HugePages: []topology.HugePages{{SizeBytes: 2 << 20, Total: 512}, {SizeBytes: gib}}},
		topology.Node{ID: 1, MemoryBytes: 63.5 * gib, Distances: near(12, 10, 20, 20)},
		topology.Node{ID: 2, MemoryBytes: 64 * gib, Distances: near(20, 20, 10, 12)},
		topology.Node{ID: 3, MemoryBytes: 64 * gib, Distances: near(20, 20, 12, 10)},
	)
}

// accelerated returns a machine with four threads per core, offline and isolated CPUs, and NUMA
// nodes whose IDs have gaps. One NUMA node has only memory. Another NUMA node is the memory of a
// GPU, and the distances from it are unknown.
func accelerated() *topology.Machine {
	m := machine(32, func(id int) topology.CPU {
		return topology.CPU{
			Package: id / 16 * 8, NUMA: topology.NodeID(id / 16 * 8),
			Core: cpuset.CPU(id / 4 * 4), LLC: cpuset.CPU(id / 8 * 8), Isolated: id/4 == 1,
		}
	},
		topology.Node{ID: 0, MemoryBytes: 128 * gib, Distances: map[topology.NodeID]int{0: 10, 8: 40, 9: 50, 255: 80}},
		topology.Node{ID: 8, MemoryBytes: 128 * gib, Distances: map[topology.NodeID]int{0: 40, 8: 10, 9: 17, 255: 80}},
		topology.Node{ID: 9, MemoryBytes: 1024 * gib, Distances: map[topology.NodeID]int{0: 50, 8: 17, 9: 10, 255: 80}},
		topology.Node{ID: 255, MemoryBytes: 16 * gib, GPU: "0004:04:00.0"},
	)
	for _, id := range []int{30, 31} {
		m.CPUs[id].Online = false
	}
	return m
}

// hybrid returns a laptop with performance and efficiency cores and one NUMA node.
func hybrid() *topology.Machine {
	return machine(20, func(id int) topology.CPU {
		if id < 12 {
			return topology.CPU{Core: cpuset.CPU(id / 2 * 2), Kind: topology.Performance}
		}
		return topology.CPU{Core: cpuset.CPU(id), Kind: topology.Efficiency}
	}, topology.Node{ID: 0, MemoryBytes: 32 * gib})
}

// The function `dies` returns a machine with two dies in one package, and one NUMA node that has the
// CPUs of both dies.
func dies() *topology.Machine {
	return machine(128, func(id int) topology.CPU {
		return topology.CPU{Die: id / 64, Core: cpuset.CPU(id), LLC: cpuset.CPU(id / 32 * 32)}
	}, topology.Node{ID: 0, MemoryBytes: 512 * gib})
}

// untold returns a machine whose kernel reports almost nothing about it.
func untold() *topology.Machine {
	return machine(4, func(id int) topology.CPU {
		return topology.CPU{
			Package: topology.Unknown, Die: topology.Unknown, NUMA: topology.NodeID(-(id / 2)),
			Core: topology.Unknown, LLC: topology.Unknown,
		}
	}, topology.Node{ID: 0, MemoryBytes: 900 << 20})
}
