package pool

import (
	"cmp"
	"slices"
)

// take takes k free CPUs of d, of which there must be so many, by the order
// of N7: one package if that can be, then as whole cores, then one last-level
// cache, then without splitting a core, then the fullest part (best fit).
//
// It is exact where one part suffices, and with two threads a core (see
// TestNoSubsetIsBetter). Over several parts of wider cores it is greedy, for the
// optimum is a knapsack; what greed can lose there is a split core.
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

// best returns the part that suits k CPUs best, or nil when they should come
// from several. A package suits whenever it has room; a cache only if it gives
// as many whole cores as all caches together could.
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

// compare orders domains by how well they suit k CPUs, the better one first.
func (t tally) compare(u tally, k int) int {
	return cmp.Or(
		cmp.Compare(u.wholes(k), t.wholes(k)),
		cmp.Compare(t.splits(k), u.splits(k)),
		cmp.Compare(t.free, u.free),
	)
}

// takeAcross takes the whole cores of the parts that have most of them until
// one part suits the rest, or no whole core is left; then what lies loose in
// the parts touched already; then the rest from as few parts as can be.
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

// takeBest takes k CPUs from the one part that suits them best, if one does.
func (d *domain) takeBest(k int, s *stock) bool {
	p := d.best(k, s)
	if p != nil && k > 0 {
		p.take(k, s)
	}
	return p != nil
}

// takeSome takes k CPUs of d, or all that are free if they are fewer, and
// returns how many it took.
func (d *domain) takeSome(k int, s *stock) int {
	k = min(k, d.tally(s).free)
	if k > 0 {
		d.take(k, s)
	}
	return k
}

// drain takes every core of d that is free as a whole.
func (d *domain) drain(s *stock) {
	for i := d.first; i < d.end; i++ {
		if s.whole(i) {
			s.grab(i, len(s.cores[i]))
		}
	}
}

// rank is a part of a domain with what it has in stock.
type rank struct {
	*domain
	tally tally
}

// ranked returns the parts in an order of their tallies; equals keep theirs.
func (d *domain) ranked(s *stock, order func(a, b tally) int) []rank {
	all := make([]rank, len(d.parts))
	for i := range d.parts {
		all[i] = rank{&d.parts[i], d.parts[i].tally(s)}
	}
	slices.SortStableFunc(all, func(a, b rank) int { return order(a.tally, b.tally) })
	return all
}

// moreWhole orders by whole cores, most first; of equals the one with least
// loose beside them, which leaves the loose ones for an odd rest.
func (t tally) moreWhole(u tally) int {
	return cmp.Or(cmp.Compare(u.whole, t.whole), cmp.Compare(t.free, u.free))
}

// moreFree orders by free CPUs, most first.
func (t tally) moreFree(u tally) int { return cmp.Compare(u.free, t.free) }
