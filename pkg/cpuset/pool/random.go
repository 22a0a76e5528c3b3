package pool

import (
	"math/rand/v2"
	"slices"
)

// random lets the seed choose the NUMA nodes: the pod's own CPUs first, then
// the first node, in an order that the seed draws, with room for the rest in
// whole cores, or with room at all, or as few nodes as can be.
func (o *offer) random() (counts, bool) {
	if o.total() < o.want.CPUs {
		return nil, false
	}
	n := make(counts, len(o.nodes))
	order := rand.New(rand.NewPCG(o.seed, 0)).Perm(len(o.nodes))
	for _, i := range order {
		n[i] = min(o.owned(i), o.want.CPUs-n.sum())
	}
	for rest := o.want.CPUs - n.sum(); rest > 0; rest = o.want.CPUs - n.sum() {
		i, k := o.roomiest(order, n, rest)
		n[i] += k
	}
	return n, true
}

// roomiest returns the node that gives most of the rest, and how much.
func (o *offer) roomiest(order []int, n counts, rest int) (node, give int) {
	whole, room := make(counts, len(order)), make(counts, len(order))
	for at, i := range order {
		t := o.nodes[i].tally(o.free)
		taken := max(0, n[i]-o.owned(i))
		room[at] = min(rest, t.free-taken)
		whole[at] = min(rest, max(0, t.whole-taken))
	}
	at := whole.most()
	if whole[at] == rest || whole[at] > 0 && !slices.Contains(room, rest) {
		return order[at], whole[at]
	}
	at = room.most()
	return order[at], room[at]
}
