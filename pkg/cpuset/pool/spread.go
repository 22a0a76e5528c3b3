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
		if extra > 0 && have > share {
			able = append(able, o.odd(i, share, have))
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
	node    int
	fresh   int // CPUs new to the pod
	split   int // cores split beyond those split anyway
	reserve int // CPUs left
}

func (o *offer) odd(i, share, have int) odd {
	more := o.carve(i, share+1)
	return odd{
		node:    i,
		fresh:   max(0, share+1-o.owned(i)),
		split:   more.split - o.carve(i, share).split,
		reserve: have - share - 1,
	}
}

func (a odd) compare(b odd) int {
	return cmp.Or(
		cmp.Compare(a.fresh, b.fresh),
		cmp.Compare(a.split, b.split),
		cmp.Compare(b.reserve, a.reserve),
	)
}
