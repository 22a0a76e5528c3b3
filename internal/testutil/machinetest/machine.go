// Package machinetest builds machines for tests:
//
//	m := machinetest.Machine(2, 28).SMT(2).NodesPerPackage(2).Build()
//
// These machines are synthetic. For tests with the files of real machines, see package
// topology/sysfs.
package machinetest

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Builder has the properties of a machine to build. Each method except Build returns a changed
// copy of the Builder, so a test can derive several machines from one Builder.
type Builder struct {
	packages, cores, smt   int // number of packages, of cores per package, and of hardware threads per core
	nodes, caches          int // number of NUMA nodes per package, and of last-level caches per NUMA node
	adjacent               bool
	memory                 uint64
	offline, isolated, eco cpuset.Set
	outside                cpuset.Set
	ids                    []topology.NodeID
	extra                  []topology.Node
}

// Machine returns a builder for a machine with this number of packages and cores. By default the
// machine has no SMT, one NUMA node and one last-level cache per package, and 16 GiB per NUMA node.
func Machine(packages, coresPerPackage int) Builder {
	return Builder{packages: packages, cores: coresPerPackage, smt: 1, nodes: 1, caches: 1, memory: 16 << 30}
}

// SMT sets the number of hardware threads per core.
func (b Builder) SMT(threads int) Builder { b.smt = threads; return b }

// NodesPerPackage divides each package's cores among n NUMA nodes, in order. With n = 0
// the whole machine is one NUMA node, as if NUMA were disabled in the firmware.
func (b Builder) NodesPerPackage(n int) Builder { b.nodes = n; return b }

// CachesPerNode divides the cores of each NUMA node among n last-level caches, in order. Cores of
// different packages never share a cache.
func (b Builder) CachesPerNode(n int) Builder { b.caches = n; return b }

// Adjacent gives the threads of a core consecutive CPU numbers (0,1 | 2,3), as POWER and many
// virtual machines do. Without Adjacent, the first threads of all cores come before the second
// threads, as on x86: with two cores, the threads of a core are CPUs 0 and 2, or CPUs 1 and 3.
func (b Builder) Adjacent() Builder { b.adjacent = true; return b }

// Memory sets the memory of each NUMA node that has CPUs, in bytes.
func (b Builder) Memory(bytes uint64) Builder { b.memory = bytes; return b }

// Offline sets the listed CPUs offline.
func (b Builder) Offline(list string) Builder { b.offline = cpuset.MustParse(list); return b }

// Isolated isolates the listed CPUs from the kernel's load balancer, as the kernel parameter
// isolcpus does.
func (b Builder) Isolated(list string) Builder { b.isolated = cpuset.MustParse(list); return b }

// OutsideNUMA removes the listed CPUs from all NUMA nodes, as the kernel does with the CPUs of a
// NUMA node that is offline.
func (b Builder) OutsideNUMA(list string) Builder { b.outside = cpuset.MustParse(list); return b }

// Efficiency makes the listed CPUs efficiency cores and all others performance cores.
func (b Builder) Efficiency(list string) Builder { b.eco = cpuset.MustParse(list); return b }

// NodeIDs sets the IDs of the NUMA nodes. The default IDs are 0, 1, 2, …
func (b Builder) NodeIDs(ids ...topology.NodeID) Builder { b.ids = ids; return b }

// MemoryNode adds a NUMA node that has memory and no CPUs.
func (b Builder) MemoryNode(id topology.NodeID, bytes uint64) Builder {
	b.extra = append(b.extra[:len(b.extra):len(b.extra)], topology.Node{ID: id, MemoryBytes: bytes})
	return b
}
