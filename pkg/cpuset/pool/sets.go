package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Exclusive returns the CPUs that pods hold.
func (l *Ledger) Exclusive() cpuset.Set { return l.exclusive }

// Shared returns the CPUs for containers without exclusive CPUs. These are the online CPUs that no
// pod holds and that are not withheld (kept idle because of FullCores). Isolated CPUs (isolcpus)
// are left out, because the kernel does not balance load between them and other CPUs: tasks would
// stay on an isolated CPU while other CPUs are idle. An isolated CPU is shared only if the
// administrator has reserved it for the shared set (Options.Reserved). The set is never empty: if
// all CPUs that no pod holds are withheld, Shared returns these withheld CPUs. This can happen if
// pods got CPUs while FullCores was off.
func (l *Ledger) Shared() cpuset.Set {
	if shared := l.shared(l.exclusive); !shared.SubsetOf(l.layout.isolated) {
		return shared
	}
	return l.rest(l.exclusive)
}

// starves reports whether containers without exclusive CPUs would have no CPU, or only isolated
// CPUs, if the given CPUs became exclusive.
func (l *Ledger) starves(cpus cpuset.Set) bool {
	return l.shared(l.exclusive.Union(cpus)).SubsetOf(l.layout.isolated)
}

// shared returns the CPUs of l.rest(exclusive) that are not withheld (kept idle because of
// FullCores). Reserved CPUs are never withheld, even if a pod holds their sibling. A pod can hold
// such a sibling if it got the sibling before FullCores was turned on, or before the core had a
// reserved CPU.
func (l *Ledger) shared(exclusive cpuset.Set) cpuset.Set {
	return l.rest(exclusive).Minus(l.siblings(exclusive).Minus(l.options.Reserved))
}

// rest returns the online CPUs that are not exclusive. It leaves out isolated CPUs, unless they are
// reserved.
func (l *Ledger) rest(exclusive cpuset.Set) cpuset.Set {
	isolated := l.layout.isolated.Minus(l.options.Reserved)
	return l.layout.online.Minus(exclusive).Minus(isolated)
}

// Free returns the CPUs that may become exclusive. They are online, in a NUMA node, not reserved,
// and no pod holds them. With FullCores, all other online CPUs of their core must be free too. If
// no CPU besides the returned ones is shared, they cannot all become exclusive, because one of them
// must stay shared.
func (l *Ledger) Free() cpuset.Set {
	never := l.options.Reserved.Union(l.layout.online.Minus(l.layout.placed))
	taken := l.exclusive.Union(never)
	return l.layout.placed.Minus(taken).Minus(l.siblings(taken))
}

// siblings returns, with FullCores, all online CPUs of the cores that have at least one of the
// given CPUs. Without FullCores, it returns the empty set.
func (l *Ledger) siblings(cpus cpuset.Set) cpuset.Set {
	if !l.options.FullCores {
		return cpuset.Set{}
	}
	return l.layout.siblings(cpus)
}

// Idle returns the CPUs that stay idle while a pod holds the given CPUs. With FullCores, these are
// the other online CPUs of the same cores, except reserved CPUs. Without FullCores, there are none.
func (l *Ledger) Idle(held cpuset.Set) cpuset.Set {
	return l.siblings(held).Minus(held).Minus(l.options.Reserved)
}

// Capacity returns the number of online CPUs of each NUMA node that has any. CPUs in no
// NUMA node are not counted.
func (l *Ledger) Capacity() map[topology.NodeID]int { return l.layout.perNode(l.layout.online) }

// Allocatable returns, for each NUMA node, how many of its CPUs may become exclusive. These are all
// online CPUs of the NUMA node except reserved CPUs. With FullCores, all CPUs of a core with a
// reserved CPU are excepted, too.
func (l *Ledger) Allocatable() map[topology.NodeID]int {
	never := l.options.Reserved.Union(l.siblings(l.options.Reserved))
	return l.layout.perNode(l.layout.online.Minus(never))
}

// Available returns how many CPUs of each NUMA node are free (see Free).
func (l *Ledger) Available() map[topology.NodeID]int { return l.layout.perNode(l.Free()) }

// perNode counts CPUs by NUMA node. It includes nodes with a count of 0.
func (l *layout) perNode(cpus cpuset.Set) map[topology.NodeID]int {
	n := make(map[topology.NodeID]int, len(l.nodes))
	for i := range l.nodes {
		n[l.nodes[i].id] = l.nodes[i].cpus.Intersect(cpus).Len()
	}
	return n
}
