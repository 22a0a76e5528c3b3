package machinetest

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// These are the distances between the NUMA nodes of a machine that Build returns, with values as in
// the ACPI table SLIT.
const (
	local       = 10
	samePackage = 12
	remote      = 21
)

// Build returns the machine with the properties that the Builder has.
func (b Builder) Build() *topology.Machine {
	machine := &topology.Machine{}
	for core := range b.packages * b.cores {
		for thread := range b.smt {
			machine.CPUs = append(machine.CPUs, b.cpu(core, thread))
		}
	}
	slices.SortFunc(machine.CPUs, func(x, y topology.CPU) int { return cmp.Compare(x.ID, y.ID) })
	for i := range max(1, b.packages*b.nodes) {
		id := b.nodeID(i)
		machine.Nodes = append(machine.Nodes, topology.Node{ID: id, CPUs: onlineOf(machine.CPUs, id), MemoryBytes: b.memory})
	}
	machine.Nodes = append(machine.Nodes, b.extra...)
	slices.SortFunc(machine.Nodes, func(x, y topology.Node) int { return cmp.Compare(x.ID, y.ID) })
	b.measure(machine)
	return machine
}

// cpu returns one hardware thread of a core. The parameter `core` is the number of the core in the
// whole machine, and `thread` is the number of the thread in the core. Both count from 0.
func (b Builder) cpu(core, thread int) topology.CPU {
	pkg := core / b.cores
	nodeCores := b.cores / max(1, b.nodes)
	node := (pkg*b.nodes + core%b.cores/nodeCores) * min(1, b.nodes)
	firstOfNode := core - core%b.cores%nodeCores
	cacheCores := nodeCores / b.caches
	firstOfCache := core - (core-firstOfNode)%cacheCores
	id := b.id(core, thread)
	c := topology.CPU{
		ID: id, Online: !b.offline.Has(id), Isolated: b.isolated.Has(id),
		Package: pkg, NUMA: b.nodeID(node), Core: b.id(core, 0), LLC: b.id(firstOfCache, 0),
	}
	if b.outside.Has(id) {
		c.NUMA = topology.Unknown
	}
	if !b.eco.Empty() {
		c.Kind = topology.Performance
	}
	if b.eco.Has(id) {
		c.Kind = topology.Efficiency
	}
	return c
}

func (b Builder) id(core, thread int) cpuset.CPU {
	if b.adjacent {
		return cpuset.CPU(core*b.smt + thread)
	}
	return cpuset.CPU(thread*b.packages*b.cores + core)
}

func (b Builder) nodeID(i int) topology.NodeID {
	if i < len(b.ids) {
		return b.ids[i]
	}
	return topology.NodeID(i)
}

// measure sets the distances between the machine's NUMA nodes. The distance of a NUMA node is 10 to
// itself, 12 to another NUMA node of its package, and 21 to all others. NUMA nodes without CPUs are
// in no package.
func (b Builder) measure(machine *topology.Machine) {
	pkg := map[topology.NodeID]int{}
	for _, cpu := range machine.CPUs {
		pkg[cpu.NUMA] = cpu.Package
	}
	for i := range machine.Nodes {
		from := &machine.Nodes[i]
		from.Distances = map[topology.NodeID]int{}
		for _, to := range machine.Nodes {
			from.Distances[to.ID] = distance(pkg, from.ID, to.ID)
		}
	}
}

func distance(pkg map[topology.NodeID]int, from, to topology.NodeID) int {
	a, aHas := pkg[from]
	b, bHas := pkg[to]
	switch {
	case from == to:
		return local
	case aHas && bHas && a == b:
		return samePackage
	}
	return remote
}

func onlineOf(cpus []topology.CPU, node topology.NodeID) cpuset.Set {
	var ids []cpuset.CPU
	for _, cpu := range cpus {
		if cpu.Online && cpu.NUMA == node {
			ids = append(ids, cpu.ID)
		}
	}
	return cpuset.Of(ids...)
}
