package pool

import (
	"cmp"
	"slices"
)

// take takes k free CPUs of d, which must have as many, in this order of preference: in one package
// if possible, then as whole cores, then in one last-level cache, then without splitting a core,
// then in the fullest part (best fit).
//
// The result is optimal if one part suffices, and with two threads per core (see
// TestNoSubsetIsBetter). For several parts with wider cores it is greedy, because the
// optimum is a knapsack problem; it may then split one core more than needed.
// O(cores of d) at each of the three levels.
func (d *domain) take(k int, s *stock) {
	if d.level == cacheLevel {
		d.takeCores(k, s)
		return
	}
	if !d.takeBest(k, s) {
		d.takeAcross(k, s)
	}
}

// best returns the best part for k CPUs, or nil if they should come from several parts. A
// package qualifies if it has k free CPUs. A cache must also provide as many whole cores as
// all caches together.
func (d *domain) best(k int, s *stock) *domain {
	goal := 0
	if d.level == packageLevel {
		goal = d.tally(s).wholes(k)
	}
	var best *domain
	var fit tally
	for i := range d.parts {
		t := d.parts[i].tally(s)
		if t.free < k || t.wholes(k) < goal {
			continue
		}
		if best == nil || t.compare(fit, k) < 0 {
			best, fit = &d.parts[i], t
		}
	}
	return best
}

// compare orders domains by how well they fit k CPUs, best first.
func (t tally) compare(u tally, k int) int {
	return cmp.Or(
		cmp.Compare(u.wholes(k), t.wholes(k)),
		cmp.Compare(t.splits(k), u.splits(k)),
		cmp.Compare(t.free, u.free),
	)
}

// takeAcross takes k CPUs from several parts. It takes the whole cores of the parts that
// have the most of them, until one part fits the rest or no whole core is left. Then it
// takes the free CPUs of split cores in the parts used so far, and then the rest from as
// few parts as possible.
func (d *domain) takeAcross(k int, s *stock) {
	var touched []*domain
	for _, p := range d.ranked(s, tally.moreWhole) {
		if p.tally.whole == 0 {
			break
		}
		if d.takeBest(k, s) {
			return
		}
		p.drain(s)
		k -= p.tally.whole
		touched = append(touched, p.domain)
	}
	for _, p := range touched {
		k -= p.takeSome(k, s)
	}
	for _, p := range d.ranked(s, tally.moreFree) {
		if d.takeBest(k, s) {
			return
		}
		k -= p.takeSome(k, s)
	}
}

// takeBest takes k CPUs from the best part, and reports whether there is one.
func (d *domain) takeBest(k int, s *stock) bool {
	p := d.best(k, s)
	if p != nil && k > 0 {
		p.take(k, s)
	}
	return p != nil
}

// takeSome takes k CPUs of d, or all free ones if there are fewer, and returns how many it
// took.
func (d *domain) takeSome(k int, s *stock) int {
	k = min(k, d.tally(s).free)
	if k > 0 {
		d.take(k, s)
	}
	return k
}

// drain takes every entirely free core of d.
func (d *domain) drain(s *stock) {
	for i := d.first; i < d.end; i++ {
		if s.whole(i) {
			s.grab(i, len(s.cores[i]))
		}
	}
}

// rank is a part of a domain and its tally.
type rank struct {
	*domain
	tally tally
}

// ranked returns the parts sorted by their tallies; the sort is stable.
func (d *domain) ranked(s *stock, order func(a, b tally) int) []rank {
	all := make([]rank, len(d.parts))
	for i := range d.parts {
		all[i] = rank{&d.parts[i], d.parts[i].tally(s)}
	}
	slices.SortStableFunc(all, func(a, b rank) int { return order(a.tally, b.tally) })
	return all
}

// moreWhole orders by whole cores, most first. Among equals the part with the fewest other
// free CPUs comes first, because the others are better for the rest.
func (t tally) moreWhole(u tally) int {
	return cmp.Or(cmp.Compare(u.whole, t.whole), cmp.Compare(t.free, u.free))
}

// moreFree orders by free CPUs, most first.
func (t tally) moreFree(u tally) int { return cmp.Compare(u.free, t.free) }
