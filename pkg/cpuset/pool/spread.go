package pool

import (
	"cmp"
	"slices"
)

// spread gives every NUMA node its even share. What does not divide goes, one
// each, to the nodes where it costs least: no CPU that the pod does not hold
// already, no core split, then where most is free, then the first.
func (o *offer) spread() (counts, bool) {
	share, extra := o.want.CPUs/len(o.nodes), o.want.CPUs%len(o.nodes)
	n := make(counts, len(o.nodes))
	var able []odd
	for i := range o.nodes {
		have := o.have(i)
		if have < share {
			return nil, false
		}
		n[i] = share
		if have > share {
			able = append(able, o.odd(i, share))
		}
	}
	if len(able) < extra {
		return nil, false
	}
	slices.SortStableFunc(able, odd.compare)
	for _, a := range able[:extra] {
		n[a.node]++
	}
	return n, true
}

// odd is a node that could take one CPU more than its share, and what that costs.
type odd struct {
	node   int
	fresh  int // CPUs new to the pod: 0 or 1
	splits int // cores split for it: -1 (it completes one), 0 or 1
	free   int // CPUs free now
}

func (o *offer) odd(i, share int) odd {
	t, need := o.nodes[i].tally(o.fresh), max(0, share-o.old(i))
	if share < o.old(i) {
		return odd{node: i, free: t.free}
	}
	return odd{node: i, fresh: 1, splits: t.splits(need+1) - t.splits(need), free: t.free}
}

func (a odd) compare(b odd) int {
	return cmp.Or(
		cmp.Compare(a.fresh, b.fresh),
		cmp.Compare(a.splits, b.splits),
		cmp.Compare(b.free, a.free),
	)
}
