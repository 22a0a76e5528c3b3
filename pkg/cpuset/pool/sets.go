package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Exclusive returns the CPUs that pods hold.
func (l *Ledger) Exclusive() cpuset.Set { return l.exclusive }

// Shared returns the CPUs for containers that have none of their own: online
// and neither exclusive nor withheld. Isolated CPUs are left out unless they are
// reserved, for the kernel would never move a task off one. It is never empty.
func (l *Ledger) Shared() cpuset.Set {
	isolated := l.layout.isolated.Minus(l.options.Reserved)
	return l.layout.online.Minus(l.exclusive).Minus(l.withheld()).Minus(isolated)
}

// Free returns the CPUs that may still become exclusive: online and in a NUMA
// node, not held, withheld or reserved, nor the one kept back. With FullCores only whole cores
// count, for a pod cannot join one that others use.
func (l *Ledger) Free() cpuset.Set {
	return l.ever().Minus(l.exclusive).Minus(l.siblingsOfHeld())
}

// ever returns the CPUs that are exclusive or could be, if other pods ended.
func (l *Ledger) ever() cpuset.Set {
	never := l.options.Reserved.Union(l.kept()).Union(l.layout.online.Minus(l.layout.placed))
	if l.options.FullCores {
		never = l.layout.siblings(never)
	}
	return l.layout.placed.Minus(never)
}

// kept returns the CPU that stays shared for want of a reserved one: the lowest
// that nobody holds, where Linux does its own housekeeping unless told
// otherwise. It is empty while a reserved CPU is there to be shared. It is a
// fixed CPU and not just any last one, so that what is free on each NUMA node can be
// promised node by node.
func (l *Ledger) kept() cpuset.Set {
	able := l.layout.online.Minus(l.exclusive).Minus(l.layout.isolated)
	if able.Overlaps(l.options.Reserved) {
		return cpuset.Set{}
	}
	first, ok := able.Minus(l.siblingsOfHeld()).First()
	if !ok {
		first, ok = able.First()
	}
	if !ok {
		return cpuset.Set{}
	}
	return cpuset.Of(first)
}

// withheld returns the CPUs that nobody may use beside a pod's own on its
// cores. Reserved CPUs and the one kept back stay shared all the same: that a
// pod holds their sibling can only be so since before the option was on.
func (l *Ledger) withheld() cpuset.Set {
	return l.siblingsOfHeld().Minus(l.exclusive).Minus(l.options.Reserved).Minus(l.kept())
}

// siblingsOfHeld returns all CPUs of the cores that pods hold CPUs of, with
// FullCores; else none.
func (l *Ledger) siblingsOfHeld() cpuset.Set {
	if !l.options.FullCores {
		return cpuset.Set{}
	}
	return l.layout.siblings(l.exclusive)
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
