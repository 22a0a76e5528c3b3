package pool

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// layout is the machine's topology in a form that makes it fast to choose CPUs. It is immutable.
type layout struct {
	nodes    []node     // NUMA nodes with online CPUs, sorted by id
	cores    []core     // of all NUMA nodes, sorted by NUMA node, package and last-level cache
	threads  []core     // all cores of the machine, each with all its online CPUs, even if these are in several NUMA nodes or in none
	online   cpuset.Set // all online CPUs
	placed   cpuset.Set // online CPUs in a NUMA node; only these are given to pods
	isolated cpuset.Set
	// classes are sets of CPUs with the same kind of core and the same isolation (isolcpus). A
	// container gets CPUs of one class if possible. The last class is equal to the field `placed`,
	// for containers that fit no other class.
	classes []cpuset.Set
	memory  []topology.Node // NUMA nodes with memory, sorted by id
	// reservedMemory is Options.ReservedMemory.
	reservedMemory map[topology.NodeID]uint64
}

// node is a NUMA node with online CPUs.
type node struct {
	domain
	id   topology.NodeID
	cpus cpuset.Set
	mems []topology.NodeID // the NUMA nodes with memory that are nearest to this one; only this NUMA node if it has memory itself
}

// hasNear reports whether a NUMA node is in n.mems.
func (n node) hasNear(id topology.NodeID) bool { return slices.Contains(n.mems, id) }

func newLayout(m *topology.Machine) layout {
	l := layout{online: m.Online(), isolated: m.Isolated().Intersect(m.Online())}
	if l.isolated.Equal(l.online) { // if all CPUs are isolated, treat them as not isolated
		l.isolated = cpuset.Set{}
	}
	cpus := slices.DeleteFunc(slices.Clone(m.CPUs), func(c topology.CPU) bool { return !c.Online })
	l.threads = threads(cpus)
	cpus = slices.DeleteFunc(cpus, func(c topology.CPU) bool { return c.NUMA == topology.Unknown })
	l.placed = idsOf(cpus)
	forgetPrivate(cpus)
	slices.SortFunc(cpus, byPlace)
	for run := range chunks(cpus, func(c topology.CPU) int { return int(c.NUMA) }) {
		l.nodes = append(l.nodes, node{domain: l.addDomain(run, nodeLevel), id: run[0].NUMA, cpus: idsOf(run)})
	}
	for _, n := range m.Nodes {
		if n.MemoryBytes > 0 {
			l.memory = append(l.memory, n)
		}
	}
	for i := range l.nodes {
		l.nodes[i].mems = nearestMemory(m, l.nodes[i].id)
	}
	l.classes = classes(cpus)
	return l
}

// forgetPrivate sets the last-level cache of a CPU to unknown if only one core uses that cache.
// Such a cache belongs to the same CPUs as the core. So a choice of CPUs by cache would add nothing
// to the choice by core, and would take time on a machine with hundreds of such caches.
func forgetPrivate(cpus []topology.CPU) {
	first := map[cpuset.CPU]cpuset.CPU{} // by cache: one of the cores that use it
	shared := map[cpuset.CPU]bool{}
	for _, c := range cpus {
		if core, ok := first[c.LLC]; ok && core != coreOf(c) {
			shared[c.LLC] = true
		}
		first[c.LLC] = coreOf(c)
	}
	for i := range cpus {
		if !shared[cpus[i].LLC] {
			cpus[i].LLC = topology.Unknown
		}
	}
}

// threads returns the cores of the given CPUs. The CPUs (hardware threads) of each core
// are sorted by id.
func threads(cpus []topology.CPU) []core {
	cpus = slices.Clone(cpus)
	slices.SortFunc(cpus, func(a, b topology.CPU) int {
		return cmp.Or(cmp.Compare(coreOf(a), coreOf(b)), cmp.Compare(a.ID, b.ID))
	})
	var all []core
	for run := range chunks(cpus, func(c topology.CPU) int { return int(coreOf(c)) }) {
		all = append(all, idsOf(run).Slice())
	}
	return all
}

// byPlace compares CPUs by NUMA node, package, cache and core. A NUMA node may span several
// packages and caches. A cache or core that spans NUMA nodes counts as a separate cache or core in
// each of them.
func byPlace(a, b topology.CPU) int {
	return cmp.Or(
		cmp.Compare(a.NUMA, b.NUMA),
		cmp.Compare(a.Package, b.Package),
		cmp.Compare(a.LLC, b.LLC),
		cmp.Compare(coreOf(a), coreOf(b)),
		cmp.Compare(a.ID, b.ID),
	)
}

// coreOf returns the core of a CPU. A CPU whose core is unknown counts as a core of its own.
func coreOf(c topology.CPU) cpuset.CPU {
	if c.Core < 0 {
		return c.ID
	}
	return c.Core
}

// classes groups the CPUs by core kind and isolation (isolcpus), so that all CPUs of a container
// are of the same kind if possible. The classes of performance cores come first. Among cores of one
// kind, isolated CPUs come first, because they are meant for pinned programs and are useless as
// shared CPUs. (The kernel does not balance load across isolated CPUs, so a program on several of
// them must pin its threads itself; see isolcpus in
// https://docs.kernel.org/admin-guide/kernel-parameters.html.) If there are several classes, the
// last one has all CPUs, for containers that fit no other class.
func classes(cpus []topology.CPU) []cpuset.Set {
	var all []cpuset.Set
	for _, kind := range []topology.CoreKind{topology.Performance, topology.UnknownKind, topology.Efficiency} {
		for _, isolated := range []bool{true, false} {
			class := idsOf(slices.DeleteFunc(slices.Clone(cpus), func(c topology.CPU) bool {
				return c.Kind != kind || c.Isolated != isolated
			}))
			if !class.Empty() {
				all = append(all, class)
			}
		}
	}
	if len(all) == 1 {
		return all
	}
	return append(all, idsOf(cpus))
}

func idsOf(cpus []topology.CPU) cpuset.Set {
	ids := make([]cpuset.CPU, len(cpus))
	for i, c := range cpus {
		ids[i] = c.ID
	}
	return cpuset.Of(ids...)
}

// siblings returns all online CPUs of the cores that have at least one of the given CPUs. The
// result includes the given CPUs that are online.
func (l *layout) siblings(cpus cpuset.Set) cpuset.Set {
	var ids []cpuset.CPU
	for _, c := range l.threads {
		if c.count(cpus) > 0 {
			ids = append(ids, c...)
		}
	}
	return cpuset.Of(ids...)
}
