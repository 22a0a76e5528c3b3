package pool

import "cmp"

// single puts all on one NUMA node that has the CPUs and, where memory is
// bound, the memory: the node where the pod needs fewest new CPUs, then by the
// order of N7 (see choice.compare), then best fit, then the first.
func (o *offer) single() (counts, bool) {
	best, found := seat{}, false
	for i := range o.nodes {
		have := o.have(i)
		if have < o.want.CPUs || !o.fits(o.nodes[i]) {
			continue
		}
		s := seat{i, max(0, o.want.CPUs-o.owned(i)), o.carve(i, o.want.CPUs), have}
		if !found || s.compare(best) < 0 {
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
	node   int
	fresh  int // CPUs new to the pod
	choice choice
	have   int
}

func (a seat) compare(b seat) int {
	return cmp.Or(
		cmp.Compare(a.fresh, b.fresh),
		a.choice.compare(b.choice),
		cmp.Compare(a.have, b.have),
	)
}
