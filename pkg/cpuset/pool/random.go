package pool

import (
	"math/rand/v2"
	"slices"
)

// random lets the seed choose the NUMA nodes: the pod's own CPUs first, then
// the first node, in an order that the seed draws, with room for the rest in
// whole cores, or with room at all, or as few nodes as can be.
func (o *offer) random() (counts, bool) {
	if o.own.Len()+o.free.Len() < o.want.CPUs {
		return nil, false
	}
	n := make(counts, len(o.nodes))
	left := make([]tally, len(o.nodes))
	order := rand.New(rand.NewPCG(o.seed, 0)).Perm(len(o.nodes))
	rest := o.want.CPUs
	for _, i := range order {
		n[i] = min(o.old(i), rest)
		left[i] = o.nodes[i].tally(o.fresh)
		rest -= n[i]
	}
	for rest > 0 {
		i, k := roomiest(order, left, rest)
		left[i].free -= k
		left[i].whole -= min(k, left[i].whole)
		n[i] += k
		rest -= k
	}
	return n, true
}

// roomiest returns the node that gives most of the rest, as whole cores if
// they do, and how much.
func roomiest(order []int, left []tally, rest int) (node, give int) {
	whole, room := make(counts, len(order)), make(counts, len(order))
	for at, i := range order {
		room[at] = min(rest, left[i].free)
		whole[at] = min(rest, left[i].whole)
	}
	at := whole.most()
	if whole[at] == rest || whole[at] > 0 && !slices.Contains(room, rest) {
		return order[at], whole[at]
	}
	at = room.most()
	return order[at], room[at]
}
