// Package topology models a machine as Linux describes it: packages, dies, NUMA nodes,
// last-level caches, cores, SMT siblings, and memory.
//
// The package has only types and simple functions on them. Package topology/sysfs reads a machine
// from the kernel's files, and package cpuset/pool chooses CPUs for containers.
package topology

import (
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
)

// NodeID is the kernel's number of a NUMA node: the N in /sys/devices/system/node/nodeN. IDs may
// have gaps (a POWER machine can have the nodes 0, 8 and 252), so they cannot be used as indexes.
type NodeID int

// Unknown is the value of an ID that the kernel does not report.
const Unknown = -1

// CoreKind is the kind of a core of a hybrid processor.
type CoreKind uint8

// The kinds of cores. On a processor with only one kind of core, all CPUs have UnknownKind.
const (
	UnknownKind CoreKind = iota
	Performance
	Efficiency
)

// String returns "unknown", "performance" or "efficiency".
func (k CoreKind) String() string {
	switch k {
	case Performance:
		return "performance"
	case Efficiency:
		return "efficiency"
	}
	return "unknown"
}

// CPU is one logical CPU (hardware thread). IDs that the kernel does not report are Unknown. This
// is usual for an offline CPU.
type CPU struct {
	ID       cpuset.CPU
	Online   bool
	Isolated bool       // by the boot parameter isolcpus=: the kernel's load balancer moves no task to or from this CPU
	Package  int        // physical_package_id
	Die      int        // die_id, which is unique only within the package
	NUMA     NodeID     // 0 on a kernel without NUMA; Unknown if the CPU is in no NUMA node
	Core     cpuset.CPU // identifies the core: the smallest ID of its online CPUs
	LLC      cpuset.CPU // identifies the last-level cache: the smallest ID of the online CPUs that share it
	Kind     CoreKind
}

// HugePages is a pool of huge pages of one size on one NUMA node.
type HugePages struct {
	SizeBytes uint64
	Total     uint64
}

// Node is one NUMA node. It may have only memory (such as CXL or persistent memory, or the memory
// of a GPU), or only CPUs.
type Node struct {
	ID          NodeID
	CPUs        cpuset.Set // online CPUs only
	MemoryBytes uint64     // MemTotal; 0 for a node without memory
	// KernelReserved is the part of MemoryBytes that the kernel keeps free, so that processes
	// cannot use it. In each memory zone, the kernel keeps pages up to a watermark free, and also
	// pages for allocations that cannot use a higher zone (lowmem reserve).
	KernelReserved uint64
	HugePages      []HugePages
	Distances      map[NodeID]int // to each node, as in the ACPI table SLIT: 10 to the node itself, 255 to an unreachable node; nil if unknown
	GPU            string         // PCI address of the GPU, if the node is the memory of a GPU; otherwise ""
}

// Machine is one computer. CPUs and Nodes are sorted by ID. A Machine is immutable, so
// goroutines may share it.
type Machine struct {
	CPUs  []CPU
	Nodes []Node
	Notes []string // contradictions between the kernel's files, and how they were resolved
}

// Online returns the online CPUs.
func (m *Machine) Online() cpuset.Set {
	var ids []cpuset.CPU
	for _, cpu := range m.CPUs {
		if cpu.Online {
			ids = append(ids, cpu.ID)
		}
	}
	return cpuset.Of(ids...)
}

// Restrict returns a copy of the machine in which all CPUs outside the given set are offline. A CPU
// in the set is online if it is online in the original machine.
func (m *Machine) Restrict(to cpuset.Set) *Machine {
	restricted := *m
	restricted.CPUs, restricted.Nodes = slices.Clone(m.CPUs), slices.Clone(m.Nodes)
	for i := range restricted.CPUs {
		c := &restricted.CPUs[i]
		c.Online = c.Online && to.Has(c.ID)
	}
	for i := range restricted.Nodes {
		n := &restricted.Nodes[i]
		n.CPUs = n.CPUs.Intersect(to)
	}
	return &restricted
}

// Isolated returns the CPUs that the kernel's boot parameter isolcpus= isolates.
func (m *Machine) Isolated() cpuset.Set {
	var ids []cpuset.CPU
	for _, cpu := range m.CPUs {
		if cpu.Isolated {
			ids = append(ids, cpu.ID)
		}
	}
	return cpuset.Of(ids...)
}

// Node returns the NUMA node that has the given ID, or nil if there is none.
func (m *Machine) Node(id NodeID) *Node {
	for i := range m.Nodes {
		if m.Nodes[i].ID == id {
			return &m.Nodes[i]
		}
	}
	return nil
}
