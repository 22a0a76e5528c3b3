package pool

import (
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// offer is what one container may choose from.
type offer struct {
	*layout
	policy podspec.Policy
	seed   uint64
	want   podspec.Container
	own    cpuset.Set        // held by containers of its pod that never run beside it
	free   cpuset.Set        // held by nobody
	room   func(node) uint64 // bytes left in the memory nearest to a node

	owned, fresh *stock // own and free by core
}

// within returns the offer less the CPUs outside class, stocked for choosing.
func (o offer) within(class cpuset.Set) *offer {
	o.own, o.free = o.own.Intersect(class), o.free.Intersect(class)
	o.owned, o.fresh = o.stock(o.own), o.stock(o.free)
	return &o
}

// counts is a number of CPUs for each of layout.nodes, by index. The index is
// dense; a topology.NodeID is not.
type counts []int

// choose distributes the container over the NUMA nodes by its policy and takes
// the CPUs in each. It is false when the policy cannot be met.
func (o *offer) choose() (cpuset.Set, bool) {
	n, ok := o.distribute()
	if !ok {
		return cpuset.Set{}, false
	}
	for i, k := range n {
		o.carve(i, k)
	}
	return cpuset.Of(o.owned.taken...).Union(cpuset.Of(o.fresh.taken...)), true
}

func (o *offer) distribute() (counts, bool) {
	switch {
	case o.want.PerNode != nil:
		return o.explicit()
	case o.policy == podspec.Spread:
		return o.spread()
	case o.policy == podspec.Single:
		return o.single()
	}
	return o.random()
}

// carve takes k CPUs of a node: the pod's own first, so that the pod holds no
// more than its largest phase; then siblings of those, which completes cores;
// then any.
func (o *offer) carve(i, k int) {
	n := &o.nodes[i]
	if own := min(k, o.old(i)); own > 0 {
		n.take(own, o.owned)
		k -= own
		for c := n.first; c < n.end && k > 0; c++ {
			if o.cores[c].count(o.own) > 0 {
				k -= o.fresh.grab(c, k)
			}
		}
	}
	if k > 0 {
		n.take(k, o.fresh)
	}
}

// old returns how many CPUs of a node's the container may take from its own pod.
func (o *offer) old(i int) int { return o.nodes[i].tally(o.owned).free }

// have returns how many CPUs of a node's it may take altogether.
func (o *offer) have(i int) int { return o.old(i) + o.nodes[i].tally(o.fresh).free }

// fits reports whether the node's memory has room for the container.
func (o *offer) fits(n node) bool { return !o.binds() || o.room(n) >= o.want.MemoryBytes }

// binds reports whether the container's memory is bound to its NUMA node.
func (o *offer) binds() bool { return o.policy == podspec.Single && o.want.MemoryBytes > 0 }

// most returns the index of the largest count; of equals the first.
func (c counts) most() int { return slices.Index(c, slices.Max(c)) }
