package pool

import (
	"cmp"
	"slices"
)

// take takes k free CPUs of d, which must have at least k. It has these preferences, the most
// important first: all CPUs are in one package; as many as possible are in whole cores; all are in
// one last-level cache; no entirely free core is split; the package or cache with the fewest free
// CPUs is used (best fit).
//
// The result is optimal if one part of d (domain.parts) has k free CPUs, or if no core has more
// than two threads (see TestNoSubsetIsBetter). Otherwise the algorithm may split one core more
// than needed. To avoid this, it would have to choose cores with different numbers of free CPUs
// that add up to k: a knapsack problem.
func (d *domain) take(k int, s *stock) {
	if d.level == cacheLevel {
		d.takeCores(k, s)
		return
	}
	if !d.takeBest(k, s) {
		d.takeAcross(k, s)
	}
}

// best returns the best part of d for k CPUs, or nil if the CPUs should come from several parts. A
// part qualifies if it has k free CPUs. If d is a package, its parts are caches. A cache also
// needs enough entirely free cores: it must provide as many whole cores for the k CPUs as the
// whole package could, because whole cores are more important than a common cache.
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

// compare returns a negative number if the domain with tally t is better for k CPUs than the domain
// with tally u.
func (t tally) compare(u tally, k int) int {
	return cmp.Or(
		cmp.Compare(u.wholes(k), t.wholes(k)),
		cmp.Compare(t.splits(k), u.splits(k)),
		cmp.Compare(t.free, u.free),
	)
}

// takeAcross takes k CPUs from several parts of d. It first takes whole cores, from the parts with
// the most CPUs in whole cores. If no whole core is left, it takes the free CPUs of split cores in
// the parts from which it took whole cores. Any other CPUs that are still needed come from as few
// parts as possible. As soon as one part qualifies for all CPUs that are still needed, takeAcross
// takes them from the best such part (see the method `best`).
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

// takeBest takes k CPUs from the part of d that the method `best` returns. If that method returns
// no part, takeBest takes no CPU and returns false.
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

// rank is an element of the result of the method `ranked`: a part of a domain, and the counts of
// the free CPUs of this part.
type rank struct {
	*domain
	tally tally
}

// ranked returns the parts of d, sorted by their tallies. The function given as `order` compares two
// tallies. Parts with equal tallies keep their order.
func (d *domain) ranked(s *stock, order func(a, b tally) int) []rank {
	all := make([]rank, len(d.parts))
	for i := range d.parts {
		all[i] = rank{&d.parts[i], d.parts[i].tally(s)}
	}
	slices.SortStableFunc(all, func(a, b rank) int { return order(a.tally, b.tally) })
	return all
}

// moreWhole orders parts by the number of free CPUs in whole cores, most first. Among parts with
// the same number, the part with the fewest free CPUs in split cores comes first, so that parts
// with many such CPUs remain for what cannot be taken as whole cores.
func (t tally) moreWhole(u tally) int {
	return cmp.Or(cmp.Compare(u.whole, t.whole), cmp.Compare(t.free, u.free))
}

// moreFree orders parts by the number of free CPUs, most first.
func (t tally) moreFree(u tally) int { return cmp.Compare(u.free, t.free) }
