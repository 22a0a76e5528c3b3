package pool

import (
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
)

// offer is what one container may choose from.
type offer struct {
	*layout
	policy Policy
	seed   uint64
	want   Want
	own    cpuset.Set        // held by containers of its pod that never run beside it
	free   cpuset.Set        // held by nobody
	room   func(node) uint64 // bytes left in the memory nearest to a node
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
	var ids []cpuset.CPU
	for i, k := range n {
		ids = append(ids, o.carve(i, k).cpus...)
	}
	return cpuset.Of(ids...), true
}

func (o *offer) distribute() (counts, bool) {
	switch {
	case o.want.PerNode != nil:
		return o.explicit()
	case o.policy == Spread:
		return o.spread()
	case o.policy == Single:
		return o.single()
	}
	return o.random()
}

// within returns the offer less the CPUs outside class.
func (o offer) within(class cpuset.Set) *offer {
	o.own, o.free = o.own.Intersect(class), o.free.Intersect(class)
	return &o
}

// have returns how many CPUs of the node's the container may take.
func (o *offer) have(i int) int { return o.owned(i) + o.nodes[i].tally(o.free).free }

// owned returns how many CPUs of the node's it would take from its own pod.
func (o *offer) owned(i int) int { return o.nodes[i].tally(o.own).free }

// carve takes k CPUs of a node: the pod's own first, so that the pod holds no
// more than its largest phase; then siblings of those, which completes cores;
// then any.
func (o *offer) carve(i, k int) choice {
	n := &o.nodes[i]
	var all choice
	for _, tier := range o.tiers(n.cpus) {
		if take := min(k-len(all.cpus), tier.Len()); take > 0 {
			all = all.plus(n.take(take, tier))
		}
	}
	return all
}

// tiers divides what a node offers by preference.
func (o *offer) tiers(node cpuset.Set) []cpuset.Set {
	free := o.free.Intersect(node)
	own := o.own.Intersect(node)
	if own.Empty() {
		return []cpuset.Set{free}
	}
	beside := o.siblings(own).Intersect(free)
	return []cpuset.Set{own, beside, free.Minus(beside)}
}

// fits reports whether the node's memory has room for the container.
func (o *offer) fits(n node) bool { return !o.binds() || o.room(n) >= o.want.MemoryBytes }

// binds reports whether the container's memory is bound to its NUMA node.
func (o *offer) binds() bool { return o.policy == Single && o.want.MemoryBytes > 0 }

// total returns how many CPUs the container may take altogether.
func (o *offer) total() int { return o.own.Len() + o.free.Len() }

// sum adds up the counts.
func (c counts) sum() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// most returns the index of the largest count; of equals the first.
func (c counts) most() int { return slices.Index(c, slices.Max(c)) }
