// Package topology models a machine as Linux describes it: packages, dies, NUMA nodes,
// last-level caches, cores, SMT siblings, and memory.
//
// It has types only: package topology/sysfs reads a machine, and package cpuset/pool
// chooses CPUs.
package topology

import (
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
)

// NodeID is the kernel's number of a NUMA node: the N of nodeN. IDs can be sparse (POWER
// has 0, 8, 252 … on one machine), so they are not indices.
type NodeID int

// Unknown is the ID that the kernel does not report: -1.
const Unknown = -1

// CoreKind is the kind of a core of a hybrid processor.
type CoreKind uint8

// The kinds. On a processor with one kind of core it is UnknownKind for all CPUs.
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

// CPU is one logical CPU (hardware thread). IDs that the kernel does not report are
// Unknown, as usual for an offline CPU.
type CPU struct {
	ID       cpuset.CPU
	Online   bool
	Isolated bool       // by isolcpus=: the kernel's load balancer does not use it
	Package  int        // physical_package_id
	Die      int        // die_id, counted within its package
	NUMA     NodeID     // 0 on a kernel without NUMA; Unknown if it is in no node
	Core     cpuset.CPU // the smallest CPU ID among its SMT siblings
	LLC      cpuset.CPU // the smallest CPU ID that shares its last-level cache
	Kind     CoreKind
}

// HugePages is a pool of huge pages of one size on one NUMA node.
type HugePages struct {
	SizeBytes uint64
	Total     uint64
}

// Node is one NUMA node. It may have memory only (CXL, persistent memory, or the memory
// of a GPU) or CPUs only.
type Node struct {
	ID          NodeID
	CPUs        cpuset.Set // online CPUs only
	MemoryBytes uint64     // MemTotal; 0 for a node without memory
	// KernelReserved is the part of MemoryBytes that the kernel keeps from processes: its
	// watermarks and lowmem reserves.
	KernelReserved uint64
	HugePages      []HugePages
	Distances      map[NodeID]int // ACPI SLIT: 10 is local, 255 unreachable; nil if unknown
	GPU            string         // PCI address of the GPU whose memory it is, or ""
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

// Restrict returns the machine with only these of its online CPUs online.
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

// Isolated returns the CPUs that the kernel's load balancer does not use.
func (m *Machine) Isolated() cpuset.Set {
	var ids []cpuset.CPU
	for _, cpu := range m.CPUs {
		if cpu.Isolated {
			ids = append(ids, cpu.ID)
		}
	}
	return cpuset.Of(ids...)
}

// Node returns the NUMA node with an ID, or nil. O(nodes).
func (m *Machine) Node(id NodeID) *Node {
	for i := range m.Nodes {
		if m.Nodes[i].ID == id {
			return &m.Nodes[i]
		}
	}
	return nil
}
