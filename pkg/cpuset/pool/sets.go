package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Exclusive returns the CPUs that pods hold.
func (l *Ledger) Exclusive() cpuset.Set { return l.exclusive }

// Shared returns the CPUs for containers without exclusive CPUs: those that are online and
// neither exclusive nor withheld. Isolated CPUs are left out unless they are reserved,
// because the kernel would never move a task off one. The set is never empty: if only
// withheld CPUs remain, because FullCores was off when pods got their siblings, these are
// shared.
func (l *Ledger) Shared() cpuset.Set {
	if shared := l.shared(l.exclusive); !shared.SubsetOf(l.layout.isolated) {
		return shared
	}
	return l.rest(l.exclusive)
}

// starves reports whether the shared set would be empty, or have only isolated CPUs, if
// cpus were exclusive too.
func (l *Ledger) starves(cpus cpuset.Set) bool {
	return l.shared(l.exclusive.Union(cpus)).SubsetOf(l.layout.isolated)
}

// shared returns the CPUs of rest that are not withheld. Reserved CPUs are never withheld:
// a pod can hold their sibling only if it got it before FullCores was on.
func (l *Ledger) shared(exclusive cpuset.Set) cpuset.Set {
	return l.rest(exclusive).Minus(l.siblings(exclusive).Minus(l.options.Reserved))
}

// rest returns the CPUs that could be shared beside exclusive ones.
func (l *Ledger) rest(exclusive cpuset.Set) cpuset.Set {
	isolated := l.layout.isolated.Minus(l.options.Reserved)
	return l.layout.online.Minus(exclusive).Minus(isolated)
}

// Free returns the CPUs that may become exclusive: those that are online and in a NUMA
// node, and neither held, withheld nor reserved. With FullCores only whole cores count,
// because a pod cannot use a core that others use. One of them may have to stay shared.
func (l *Ledger) Free() cpuset.Set {
	never := l.options.Reserved.Union(l.layout.online.Minus(l.layout.placed))
	taken := l.exclusive.Union(never)
	return l.layout.placed.Minus(taken).Minus(l.siblings(taken))
}

// siblings returns all CPUs of the cores of cpus with FullCores, otherwise none.
func (l *Ledger) siblings(cpus cpuset.Set) cpuset.Set {
	if !l.options.FullCores {
		return cpuset.Set{}
	}
	return l.layout.siblings(cpus)
}

// Idle returns the CPUs that stay idle beside CPUs that a pod holds: with FullCores the
// other threads of their cores.
func (l *Ledger) Idle(held cpuset.Set) cpuset.Set {
	return l.siblings(held).Minus(held).Minus(l.options.Reserved)
}

// Capacity returns the number of online CPUs of each NUMA node that has any. CPUs in no
// NUMA node are not counted.
func (l *Ledger) Capacity() map[topology.NodeID]int { return l.layout.perNode(l.layout.online) }

// Allocatable returns the capacity less the CPUs that are never exclusive: reserved ones,
// and with FullCores the other threads of their cores.
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
