package topology

import (
	"github.com/numalet/numalet/pkg/cpuset"
)

// NodeID is a NUMA node as the kernel numbers it: the N of nodeN. Ids are
// sparse and are never indexes (POWER has 0, 8, 252 … on one machine).
type NodeID int

// Unknown stands for an id the kernel does not tell: -1.
const Unknown = -1

// CoreKind tells the kinds of core of a hybrid processor apart.
type CoreKind uint8

// Core kinds, from the least known to the smallest. Kinds are equal on
// processors with one kind of core, whose CPUs are all UnknownKind.
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

// CPU is one logical CPU (hardware thread). Ids are Unknown where the kernel
// does not tell them, which is the rule for an offline CPU.
type CPU struct {
	ID       cpuset.CPU
	Online   bool
	Isolated bool       // isolcpus= keeps the kernel's load balancer off it
	Package  int        // physical_package_id
	Die      int        // die_id, counted within its package
	NUMA     NodeID     // 0 on a kernel without NUMA; Unknown when in no node
	Core     cpuset.CPU // smallest CPU id among its SMT siblings
	LLC      cpuset.CPU // smallest CPU id that shares its last-level cache
	Kind     CoreKind
}

// HugePages is a pool of huge pages of one size on one NUMA node.
type HugePages struct {
	SizeBytes uint64
	Total     uint64
}

// Node is one NUMA node. A node may have memory only (CXL, persistent memory),
// CPUs only, or be the memory of a GPU.
type Node struct {
	ID          NodeID
	CPUs        cpuset.Set // online CPUs only
	MemoryBytes uint64     // MemTotal; 0 for a node without memory
	HugePages   []HugePages
	Distances   map[NodeID]int // ACPI SLIT: 10 is local, 255 unreachable; nil if not told
	GPU         string         // PCI address of the GPU whose memory it is, or ""
}

// Machine is one computer. CPUs and Nodes are sorted by id. It is built once
// and never changed, so it may be shared between goroutines.
type Machine struct {
	CPUs  []CPU
	Nodes []Node
	Notes []string // where the kernel's files contradict each other, and what was made of it
}

// Online returns the CPUs that are online.
func (m *Machine) Online() cpuset.Set {
	var ids []cpuset.CPU
	for _, c := range m.CPUs {
		if c.Online {
			ids = append(ids, c.ID)
		}
	}
	return cpuset.Of(ids...)
}

// Isolated returns the CPUs that the kernel keeps its load balancer off.
func (m *Machine) Isolated() cpuset.Set {
	var ids []cpuset.CPU
	for _, c := range m.CPUs {
		if c.Isolated {
			ids = append(ids, c.ID)
		}
	}
	return cpuset.Of(ids...)
}

// Node returns the NUMA node with the given id, or nil. O(nodes).
func (m *Machine) Node(id NodeID) *Node {
	for i := range m.Nodes {
		if m.Nodes[i].ID == id {
			return &m.Nodes[i]
		}
	}
	return nil
}
