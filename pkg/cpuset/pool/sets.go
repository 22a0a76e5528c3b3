package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Exclusive returns the CPUs that pods hold.
func (l *Ledger) Exclusive() cpuset.Set { return l.exclusive }

// Shared returns the CPUs for containers that have none of their own: online
// and neither exclusive nor withheld. Isolated CPUs are left out unless they are
// reserved, for the kernel would never move a task off one. It is never empty:
// where only withheld CPUs remain, which can be if FullCores was off when they
// became that, these are shared.
func (l *Ledger) Shared() cpuset.Set {
	if shared := l.shared(l.exclusive); !shared.SubsetOf(l.layout.isolated) {
		return shared
	}
	return l.rest(l.exclusive)
}

// starves reports whether no CPU would stay shared if these were held too, or
// isolated ones only.
func (l *Ledger) starves(cpus cpuset.Set) bool {
	return l.shared(l.exclusive.Union(cpus)).SubsetOf(l.layout.isolated)
}

// shared returns what of the rest is not withheld. Reserved CPUs never are: that
// a pod holds their sibling can only be so since before the option was on.
func (l *Ledger) shared(exclusive cpuset.Set) cpuset.Set {
	return l.rest(exclusive).Minus(l.siblings(exclusive).Minus(l.options.Reserved))
}

// rest returns the CPUs that could be shared beside exclusive ones.
func (l *Ledger) rest(exclusive cpuset.Set) cpuset.Set {
	isolated := l.layout.isolated.Minus(l.options.Reserved)
	return l.layout.online.Minus(exclusive).Minus(isolated)
}

// Free returns the CPUs that may still become exclusive, though not all of them
// where no other would stay shared: online and in a NUMA node, not held,
// withheld or reserved. With FullCores only whole cores count, for a pod cannot
// join one that others use.
func (l *Ledger) Free() cpuset.Set {
	never := l.options.Reserved.Union(l.layout.online.Minus(l.layout.placed))
	taken := l.exclusive.Union(never)
	return l.layout.placed.Minus(taken).Minus(l.siblings(taken))
}

// siblings returns all CPUs of the cores of cpus with FullCores; else none.
func (l *Ledger) siblings(cpus cpuset.Set) cpuset.Set {
	if !l.options.FullCores {
		return cpuset.Set{}
	}
	return l.layout.siblings(cpus)
}

// Capacity returns the online CPUs of each NUMA node that has any. A CPU that
// is in no NUMA node is in no count.
func (l *Ledger) Capacity() map[topology.NodeID]int { return l.layout.perNode(l.layout.online) }

// Allocatable returns the capacity less reserved CPUs.
func (l *Ledger) Allocatable() map[topology.NodeID]int {
	return l.layout.perNode(l.layout.online.Minus(l.options.Reserved))
}

// Available returns how many CPUs of each NUMA node are free (see Free).
func (l *Ledger) Available() map[topology.NodeID]int { return l.layout.perNode(l.Free()) }

// perNode counts CPUs by NUMA node. Nodes with none of them count 0.
func (l *layout) perNode(cpus cpuset.Set) map[topology.NodeID]int {
	n := make(map[topology.NodeID]int, len(l.nodes))
	for i := range l.nodes {
		n[l.nodes[i].id] = l.nodes[i].cpus.Intersect(cpus).Len()
	}
	return n
}
