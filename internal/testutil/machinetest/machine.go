// Package machinetest builds machines for tests:
//
//	m := machinetest.Machine(2, 28).SMT(2).NodesPerPackage(2).Build()
//
// The machines are synthetic. Package topology/sysfs reads captured machines.
package machinetest

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Builder has the properties of a machine. Each method returns a changed copy, so several
// machines can be derived from one builder.
type Builder struct {
	packages, cores, smt   int // cores per package
	nodes, caches          int // NUMA nodes per package, last-level caches per node
	adjacent               bool
	memory                 uint64
	offline, isolated, eco cpuset.Set
	outside                cpuset.Set
	ids                    []topology.NodeID
	extra                  []topology.Node
}

// Machine starts a machine of packages × cores: no SMT, one NUMA node and one
// last-level cache per package, 16 GiB per NUMA node.
func Machine(packages, coresPerPackage int) Builder {
	return Builder{packages: packages, cores: coresPerPackage, smt: 1, nodes: 1, caches: 1, memory: 16 << 30}
}

// SMT sets the hardware threads per core.
func (b Builder) SMT(threads int) Builder { b.smt = threads; return b }

// NodesPerPackage divides each package's cores among n NUMA nodes, in order.
// With n = 0 the whole machine is one NUMA node (NUMA switched off in firmware).
func (b Builder) NodesPerPackage(n int) Builder { b.nodes = n; return b }

// CachesPerNode divides each NUMA node's cores of a package among n last-level
// caches, in order.
func (b Builder) CachesPerNode(n int) Builder { b.caches = n; return b }

// Adjacent numbers the threads of a core one after the other (0,1 | 2,3), as
// POWER and many virtual machines do. Without it thread t of core c is CPU
// t·cores + c, as on x86.
func (b Builder) Adjacent() Builder { b.adjacent = true; return b }

// Memory sets the bytes of each NUMA node that has CPUs.
func (b Builder) Memory(bytes uint64) Builder { b.memory = bytes; return b }

// Offline sets the listed CPUs offline.
func (b Builder) Offline(list string) Builder { b.offline = cpuset.MustParse(list); return b }

// Isolated isolates the listed CPUs from the kernel's load balancer.
func (b Builder) Isolated(list string) Builder { b.isolated = cpuset.MustParse(list); return b }

// OutsideNUMA removes the listed CPUs from all NUMA nodes, as the kernel does with the CPUs of a
// NUMA node that is offline.
func (b Builder) OutsideNUMA(list string) Builder { b.outside = cpuset.MustParse(list); return b }

// Efficiency makes the listed CPUs efficiency cores and all others performance cores.
func (b Builder) Efficiency(list string) Builder { b.eco = cpuset.MustParse(list); return b }

// NodeIDs renames the NUMA nodes, which otherwise are 0, 1, 2, …
func (b Builder) NodeIDs(ids ...topology.NodeID) Builder { b.ids = ids; return b }

// MemoryNode adds a NUMA node that has memory only.
func (b Builder) MemoryNode(id topology.NodeID, bytes uint64) Builder {
	b.extra = append(b.extra[:len(b.extra):len(b.extra)], topology.Node{ID: id, MemoryBytes: bytes})
	return b
}
