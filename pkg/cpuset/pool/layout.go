package pool

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// layout is the machine prepared for choosing: built once, never changed.
type layout struct {
	nodes    []node     // those with online CPUs, by id
	cores    []core     // of the nodes, in the order of nodes, packages, caches
	threads  []core     // of the machine, whatever NUMA nodes their CPUs are in, or none
	online   cpuset.Set // every CPU
	placed   cpuset.Set // in a NUMA node: the others are shared for good
	isolated cpuset.Set
	// classes are the sets of CPUs that a container is first tried inside of,
	// so that its CPUs are alike; the last class is every CPU.
	classes []cpuset.Set
	memory  []topology.Node // those with memory, by id
}

// node is a NUMA node with online CPUs.
type node struct {
	domain
	id   topology.NodeID
	cpus cpuset.Set
	mems []topology.NodeID // the nearest with memory: itself, or those closest to it
}

// hasNear reports whether a NUMA node's memory is among the nearest.
func (n node) hasNear(id topology.NodeID) bool { return slices.Contains(n.mems, id) }

func newLayout(m *topology.Machine) layout {
	l := layout{online: m.Online(), isolated: m.Isolated().Intersect(m.Online())}
	if l.isolated.Equal(l.online) { // nobody is left to balance: isolation says nothing
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

// forgetPrivate makes the last-level cache of CPUs unknown where it serves
// one core: that says nothing that the core does not, and a level of hundreds
// of parts would cost time.
func forgetPrivate(cpus []topology.CPU) {
	first := map[cpuset.CPU]cpuset.CPU{} // a core of each cache
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

// threads divides the CPUs by core.
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

// byPlace sorts CPUs so that those of one NUMA node, package, cache and core
// follow each other. The order of the levels is that of nesting on this
// machine as seen from a NUMA node: a node may span packages and caches, and a
// cache or core that spans nodes has a part in each.
func byPlace(a, b topology.CPU) int {
	return cmp.Or(
		cmp.Compare(a.NUMA, b.NUMA),
		cmp.Compare(a.Package, b.Package),
		cmp.Compare(a.LLC, b.LLC),
		cmp.Compare(coreOf(a), coreOf(b)),
		cmp.Compare(a.ID, b.ID),
	)
}

// coreOf returns the core of a CPU; one whose core is unknown is its own.
func coreOf(c topology.CPU) cpuset.CPU {
	if c.Core < 0 {
		return c.ID
	}
	return c.Core
}

// classes divides the CPUs by core kind and isolation: performance cores come
// first, and isolated CPUs, for who isolates CPUs does it for pinned work, and
// the shared set has no use for them. (The kernel moves no thread off an
// isolated CPU: a program on several must pin its threads itself, see
// https://docs.kernel.org/admin-guide/kernel-parameters.html, isolcpus.) A
// machine whose CPUs are all alike has the one class.
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

// siblings returns every online CPU that shares a core with one of cpus,
// those included. O(CPUs).
func (l *layout) siblings(cpus cpuset.Set) cpuset.Set {
	var ids []cpuset.CPU
	for _, c := range l.threads {
		if c.count(cpus) > 0 {
			ids = append(ids, c...)
		}
	}
	return cpuset.Of(ids...)
}
