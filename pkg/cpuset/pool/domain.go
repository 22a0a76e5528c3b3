package pool

import (
	"iter"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// level says what kind of part of the machine a domain is.
type level int

// The levels, from the largest part to the smallest.
const (
	nodeLevel level = iota
	packageLevel
	cacheLevel
)

// domain is a part of the machine from which CPUs are taken. A domain has parts, which are domains
// of the next level:
//
//	NUMA node ─ packages of the NUMA node ─ last-level caches of the package
//
// Even if a domain has only one part, this part is a separate domain of the next level. The cores
// of a domain are layout.cores[first:end].
type domain struct {
	level      level
	parts      []domain // empty if the domain is a last-level cache
	first, end int
	width      int // number of CPUs of the core with the most CPUs
}

// core is the ids of the online CPUs (hardware threads) of one physical core, ascending. If a CPU
// of the core is offline, the other CPUs count as the whole core.
type core []cpuset.CPU

// addDomain appends the cores of the given CPUs to l.cores, and returns the domain of these CPUs.
// The CPUs must be sorted by byPlace.
func (l *layout) addDomain(cpus []topology.CPU, at level) domain {
	d := domain{level: at, first: len(l.cores)}
	for run := range chunks(cpus, func(c topology.CPU) int { return groupOf(c, at) }) {
		if at == cacheLevel {
			l.cores = append(l.cores, idsOf(run).Slice())
			d.width = max(d.width, len(run))
			continue
		}
		part := l.addDomain(run, at+1)
		d.parts = append(d.parts, part)
		d.width = max(d.width, part.width)
	}
	d.end = len(l.cores)
	return d
}

// groupOf returns a number that identifies the part to which the CPU c of a domain belongs: its
// package in a NUMA node, its last-level cache in a package, or its core in a last-level cache.
// The parameter `at` is the level of the domain. Two CPUs of the domain get equal numbers only if
// they are in the same part.
func groupOf(c topology.CPU, at level) int {
	switch at {
	case nodeLevel:
		return c.Package
	case packageLevel:
		return int(c.LLC)
	}
	return int(coreOf(c))
}

// chunks yields cpus in pieces. Each piece has consecutive CPUs for which the function given as `key`
// returns the same number.
func chunks(cpus []topology.CPU, key func(topology.CPU) int) iter.Seq[[]topology.CPU] {
	return func(yield func([]topology.CPU) bool) {
		for len(cpus) > 0 {
			end := slices.IndexFunc(cpus, func(c topology.CPU) bool { return key(c) != key(cpus[0]) })
			if end < 0 {
				end = len(cpus)
			}
			if !yield(cpus[:end]) {
				return
			}
			cpus = cpus[end:]
		}
	}
}

// count returns how many CPUs of the core are in the set.
func (c core) count(cpus cpuset.Set) int {
	n := 0
	for _, cpu := range c {
		if cpus.Has(cpu) {
			n++
		}
	}
	return n
}
