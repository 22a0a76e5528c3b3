package pool

import (
	"cmp"

	"github.com/numalet/numalet/pkg/cpuset"
)

// choice is CPUs taken from a domain, and what they cost.
type choice struct {
	cpus    []cpuset.CPU
	touched [levels]int // domains of each level that it takes from
	whole   int         // CPUs in cores that it takes as a whole
	split   int         // cores that were free as a whole and that it takes a part of
}

// compare orders choices of equally many CPUs, the better one first: one
// package, then whole cores, then one last-level cache, then no newly split
// core, then few cores.
func (a choice) compare(b choice) int {
	return cmp.Or(
		cmp.Compare(a.touched[packageLevel], b.touched[packageLevel]),
		cmp.Compare(b.whole, a.whole),
		cmp.Compare(a.touched[cacheLevel], b.touched[cacheLevel]),
		cmp.Compare(a.split, b.split),
		cmp.Compare(a.touched[coreLevel], b.touched[coreLevel]),
	)
}

// plus returns both choices together. They must be of different domains.
func (a choice) plus(b choice) choice {
	a.cpus = append(a.cpus, b.cpus...)
	for i, n := range b.touched {
		a.touched[i] += n
	}
	a.whole += b.whole
	a.split += b.split
	return a
}

// take chooses k free CPUs of d, of which there must be so many: from the one
// part that suits best, or from several where that is better.
//
// It is greedy at each level and exact where one part suffices; the optimum
// over several parts is a knapsack, and what greed loses there is a cache
// more, never a CPU. O(CPUs of d) for each of the four levels.
func (d *domain) take(k int, free cpuset.Set) choice {
	if d.level == coreLevel {
		return d.cut(k, free)
	}
	best, ok := d.inside(k, free)
	if !ok || best.whole < k {
		if over := d.across(k, free); !ok || over.compare(best) < 0 {
			best = over
		}
	}
	best.touched[d.level] = 1
	return best
}

// cut takes the first k free CPUs of a core.
func (d *domain) cut(k int, free cpuset.Set) choice {
	c := choice{cpus: make([]cpuset.CPU, 0, k)}
	t := d.tally(free)
	for _, cpu := range d.cores[0] {
		if len(c.cpus) < k && free.Has(cpu) {
			c.cpus = append(c.cpus, cpu)
		}
	}
	c.touched[coreLevel] = 1
	switch {
	case k == t.whole:
		c.whole = k
	case t.whole > 0:
		c.split = 1
	}
	return c
}

// inside takes from the one part that gives the best choice; of equals the
// fullest (best fit), then the first. It is false when no part has k free.
func (d *domain) inside(k int, free cpuset.Set) (best choice, ok bool) {
	fill := 0
	for i := range d.parts {
		t := d.parts[i].tally(free)
		if t.free < k {
			continue
		}
		c := d.parts[i].take(k, free)
		order := c.compare(best)
		if !ok || order < 0 || order == 0 && t.free < fill {
			best, fill, ok = c, t.free, true
		}
	}
	return best, ok
}

// across takes whole cores from the parts that have most of them until one
// part can give the rest, or no whole core is left.
func (d *domain) across(k int, free cpuset.Set) choice {
	var all choice
	for _, p := range d.ranked(free, func(t tally) int { return t.whole }) {
		rest := k - len(all.cpus)
		if p.tally.whole == 0 || p.tally.whole >= rest {
			break
		}
		whole, _ := p.wholes(free)
		all = all.plus(p.take(p.tally.whole, whole))
	}
	rest := k - len(all.cpus)
	free = free.Minus(cpuset.Of(all.cpus...))
	last, ok := d.inside(rest, free)
	if bits, can := d.scatter(rest, free); can && (!ok || bits.compare(last) < 0) {
		last = bits
	}
	return all.plus(last)
}

// scatter takes from cores that are split already, in as few parts as can be.
// It is false when they have fewer than k free.
func (d *domain) scatter(k int, free cpuset.Set) (all choice, ok bool) {
	_, partial := d.wholes(free)
	if partial.Len() < k {
		return choice{}, false
	}
	for _, p := range d.ranked(partial, func(t tally) int { return t.free }) {
		if n := min(k-len(all.cpus), p.tally.free); n > 0 {
			all = all.plus(p.take(n, partial))
		}
	}
	return all, true
}
