package pool

import (
	"cmp"
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
	coreLevel
	levels
)

// domain is a part of a NUMA node from which CPUs are taken:
//
//	NUMA node ─ packages in it ─ last-level caches in that ─ cores in that
//
// Every level is there, if only with one part, and one rule (take) serves all.
type domain struct {
	level level
	parts []domain // none below a core
	cores []core   // of all parts, in their order
}

// core is the online CPUs (hardware threads) of one core, ascending. An
// offline sibling makes a core narrower, not less whole.
type core []cpuset.CPU

// tally is what a domain has free: CPUs, and how many of them are in cores
// that are free as a whole.
type tally struct{ free, whole int }

// newDomain builds the domain of CPUs sorted by place.
func newDomain(cpus []topology.CPU, at level) domain {
	d := domain{level: at}
	if at == coreLevel {
		d.cores = []core{idsOf(cpus).Slice()}
		return d
	}
	for run := range chunks(cpus, func(c topology.CPU) int { return groupOf(c, at+1) }) {
		part := newDomain(run, at+1)
		d.parts = append(d.parts, part)
		d.cores = append(d.cores, part.cores...)
	}
	return d
}

// groupOf returns what CPUs of one domain of the level have in common.
func groupOf(c topology.CPU, at level) int {
	switch at {
	case packageLevel:
		return c.Package
	case cacheLevel:
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

func (c core) count(free cpuset.Set) int {
	n := 0
	for _, cpu := range c {
		if free.Has(cpu) {
			n++
		}
	}
	return n
}

// tally counts the free CPUs. O(CPUs of d).
func (d *domain) tally(free cpuset.Set) (t tally) {
	for _, c := range d.cores {
		n := c.count(free)
		t.free += n
		if n == len(c) {
			t.whole += n
		}
	}
	return t
}

// wholes returns the free CPUs whose cores are free as a whole (or, with
// whole false, those whose cores are not).
func (d *domain) wholes(free cpuset.Set) (whole, partial cpuset.Set) {
	var in, out []cpuset.CPU
	for _, c := range d.cores {
		if c.count(free) == len(c) {
			in = append(in, c...)
			continue
		}
		for _, cpu := range c {
			if free.Has(cpu) {
				out = append(out, cpu)
			}
		}
	}
	return cpuset.Of(in...), cpuset.Of(out...)
}

// ranked returns the parts with their tallies, sorted by rank, largest first;
// equals keep their order.
func (d *domain) ranked(free cpuset.Set, rank func(tally) int) []ranking {
	all := make([]ranking, len(d.parts))
	for i := range d.parts {
		all[i] = ranking{&d.parts[i], d.parts[i].tally(free)}
	}
	slices.SortStableFunc(all, func(a, b ranking) int { return cmp.Compare(rank(b.tally), rank(a.tally)) })
	return all
}

type ranking struct {
	*domain
	tally tally
}
