package pool

import (
	"iter"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// level is the rank of a domain.
type level int

// The levels, from the outside in.
const (
	nodeLevel level = iota
	packageLevel
	cacheLevel
)

// domain is a part of the machine from which CPUs are taken:
//
//	NUMA node ─ packages in it ─ last-level caches in that
//
// Every level exists, possibly with a single part. The cores of a domain are
// layout.cores[first:end].
type domain struct {
	level      level
	parts      []domain // none below a cache
	first, end int
	width      int // CPUs of its widest core
}

// core is the online CPUs (hardware threads) of one core, ascending. A core with an
// offline sibling is narrower, but still counts as whole.
type core []cpuset.CPU

// addDomain appends the cores of cpus, which are sorted by byPlace, to the layout and
// returns their domain.
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

// groupOf returns the key that CPUs in the same part of a domain at this level share.
func groupOf(c topology.CPU, at level) int {
	switch at {
	case nodeLevel:
		return c.Package
	case packageLevel:
		return int(c.LLC)
	}
	return int(coreOf(c))
}

// chunks yields the longest runs of neighbours with equal keys.
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
