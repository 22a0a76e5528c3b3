package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
)

// offer is the CPUs of one class (kind of core and isolation; see layout.classes) that one
// container may get.
type offer struct {
	*layout
	policy podspec.Policy
	own    cpuset.Set // CPUs that this container may reuse: other containers of the pod hold them, but none of these containers runs at the same time as this one
	free   cpuset.Set // CPUs that no pod holds

	owned, fresh *stock // the CPUs in `own` and in `free`, by core
	rooms        []numaplan.Room
	tallies      []tally // for each NUMA node, the counts of its CPUs in the field `fresh`
}

// offers returns the offers to container i, one for each of the given classes of CPUs. The
// parameter `claims` has what each container of the pod holds so far. Containers that are not placed
// yet hold no CPUs.
func (p *placer) offers(claims []Claim, i int, free cpuset.Set, classes []cpuset.Set) []*offer {
	var all, busy cpuset.Set
	for j, c := range claims {
		all = all.Union(c.held())
		if j != i && beside(claims, i, j) {
			busy = busy.Union(c.held())
		}
	}
	own := all.Minus(busy)
	free = free.Minus(all)
	offers := make([]*offer, len(classes))
	for n, class := range classes {
		o := &offer{layout: &p.ledger.layout, policy: p.pod.Policy, own: own.Intersect(class), free: free.Intersect(class)}
		o.owned, o.fresh = o.stock(o.own), o.stock(o.free)
		o.count()
		offers[n] = o
	}
	return offers
}

// count sets the fields `rooms` and `tallies`, which say how many CPUs are offered on each NUMA node.
func (o *offer) count() {
	o.rooms, o.tallies = make([]numaplan.Room, len(o.nodes)), make([]tally, len(o.nodes))
	for i := range o.nodes {
		t := o.nodes[i].tally(o.fresh)
		o.tallies[i] = t
		o.rooms[i] = numaplan.Room{Free: t.free, Whole: t.whole}
		if !o.own.Empty() {
			o.rooms[i].Idle = o.nodes[i].tally(o.owned).free
		}
	}
}

// take takes the given numbers of CPUs on the NUMA nodes. If a NUMA node has too few, the method
// takes no CPU and returns false.
func (o *offer) take(counts numaplan.Counts) (cpuset.Set, bool) {
	for i, k := range counts {
		if k > o.rooms[i].Idle+o.rooms[i].Free {
			return cpuset.Set{}, false
		}
	}
	for i, k := range counts {
		o.takeOn(i, k)
	}
	return cpuset.Of(o.owned.taken...).Union(cpuset.Of(o.fresh.taken...)), true
}

// takeOn takes k CPUs of a NUMA node. It first takes CPUs that the pod already holds (o.own), so
// that the pod needs fewer free CPUs. Then it takes free siblings of the CPUs in o.own, to complete
// cores, and then any other free CPUs.
func (o *offer) takeOn(i, k int) {
	n := &o.nodes[i]
	if own := min(k, o.rooms[i].Idle); own > 0 {
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

// tier returns the offer as a Tier, with which package numaplan decides how many CPUs the
// container gets on each NUMA node.
func (o *offer) tier() numaplan.Tier {
	cost := o.costOfAll
	if o.policy == podspec.Spread {
		cost = o.costOfOdd
	}
	return numaplan.Tier{Rooms: o.rooms, Cost: cost}
}

// costOfAll returns the cost of placing all CPUs of a container on NUMA node i. The last parameter
// is the number of these CPUs. Costs are compared first by how many of the CPUs are new to the pod,
// then by the preferences of domain.take, and then by the number of free CPUs on the NUMA node,
// fewest first (best fit).
func (o *offer) costOfAll(i, _, to int) numaplan.Cost {
	n, t := &o.nodes[i], o.tallies[i]
	fresh, packages, caches := max(0, to-o.rooms[i].Idle), 2, 2
	if p := n.best(fresh, o.fresh); p != nil {
		packages = 1
		if p.best(fresh, o.fresh) != nil {
			caches = 1
		}
	}
	return numaplan.Cost{fresh, packages, -t.wholes(fresh), caches, t.splits(fresh), t.free}
}

// costOfOdd returns the cost of placing an odd CPU on NUMA node i. With the policy "spread", all
// NUMA nodes get the same number of CPUs, except that some get one more: the odd CPU. The first
// number of the cost is 0 if the pod already holds a CPU that the container may reuse as the odd
// CPU, otherwise 1. The second number says by how much the CPU changes the number of split cores:
// -1 if it completes a core, otherwise 0 or 1. If both numbers are equal, the third number makes
// the NUMA node with the most free CPUs the cheapest one.
func (o *offer) costOfOdd(i, from, to int) numaplan.Cost {
	t, need := o.tallies[i], max(0, from-o.rooms[i].Idle)
	if from < o.rooms[i].Idle {
		return numaplan.Cost{0, 0, -t.free}
	}
	return numaplan.Cost{1, t.splits(need+to-from) - t.splits(need), -t.free}
}
