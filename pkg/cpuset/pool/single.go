package pool

import "cmp"

// single puts all on one NUMA node that has the CPUs and, where memory is
// bound, the memory: the node where the pod needs fewest new CPUs, then by the
// order of N7 (see domain.take), then best fit, then the first.
func (o *offer) single() (counts, bool) {
	var best seat
	found := false
	for i := range o.nodes {
		if o.have(i) < o.want.CPUs || !o.fits(o.nodes[i]) {
			continue
		}
		if s := o.seat(i); !found || s.compare(best) < 0 {
			best, found = s, true
		}
	}
	if !found {
		return nil, false
	}
	n := make(counts, len(o.nodes))
	n[best.node] = o.want.CPUs
	return n, true
}

// seat is a node that could take the whole container.
type seat struct {
	node     int
	fresh    int // CPUs new to the pod
	packages int // 1, or 2 for more than one
	caches   int // likewise
	tally    tally
}

func (o *offer) seat(i int) seat {
	n := &o.nodes[i]
	s := seat{node: i, fresh: max(0, o.want.CPUs-o.old(i)), packages: 2, caches: 2, tally: n.tally(o.fresh)}
	p := n.best(s.fresh, o.fresh)
	if p == nil {
		return s
	}
	s.packages = 1
	if c := p.best(s.fresh, o.fresh); c != nil {
		s.caches = 1
	}
	return s
}

func (a seat) compare(b seat) int {
	return cmp.Or(
		cmp.Compare(a.fresh, b.fresh),
		cmp.Compare(a.packages, b.packages),
		cmp.Compare(b.tally.wholes(a.fresh), a.tally.wholes(a.fresh)),
		cmp.Compare(a.caches, b.caches),
		a.tally.compare(b.tally, a.fresh),
	)
}
