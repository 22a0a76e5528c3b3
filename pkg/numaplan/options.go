package numaplan

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
)

// options yields the ways to distribute the CPUs of container c over NUMA nodes by the pod's
// policy, best first. If the hook Hooks.Tiers is set, the hook yields tiers, which are parts of the
// machine. Then the method `options` tries these tiers one after another, and at last the whole
// machine. A distribution that is possible in several tiers is yielded only once.
func (s *search) options(c int) iter.Seq[Counts] {
	want := s.Containers[c]
	if want.PerNode != nil {
		return s.named(want)
	}
	if s.Tiers == nil {
		return s.within(c, s.anywhere(c))
	}
	return func(yield func(Counts) bool) {
		var seen []Counts
		fresh := func(n Counts) bool {
			if slices.ContainsFunc(seen, func(old Counts) bool { return slices.Equal(old, n) }) {
				return true
			}
			seen = append(seen, n)
			return yield(n)
		}
		for tier := range s.Tiers(c, s.placed) {
			for n := range s.within(c, tier) {
				if !fresh(n) {
					return
				}
			}
		}
		for n := range s.within(c, s.anywhere(c)) {
			if !fresh(n) {
				return
			}
		}
	}
}

// The method `within` yields the ways to distribute the CPUs of container c by the pod's policy
// over the NUMA nodes of a tier (a part of the machine).
func (s *search) within(c int, t Tier) iter.Seq[Counts] {
	switch s.Policy {
	case podspec.Spread:
		return t.spread(s.Containers[c].CPUs)
	case podspec.Single:
		return t.single(s.Containers[c].CPUs)
	}
	return s.random(c, t)
}

// named yields the only way to place a container for which the pod names the number of CPUs on each
// NUMA node (Container.PerNode). It yields nothing if PerNode has CPUs on a NUMA node that is not
// in s.NUMA, because such a NUMA node has no CPUs.
func (s *search) named(want podspec.Container) iter.Seq[Counts] {
	return func(yield func(Counts) bool) {
		n, sum := make(Counts, len(s.NUMA)), 0
		for i := range s.NUMA {
			n[i] = want.PerNode[s.NUMA[i].ID]
			sum += n[i]
		}
		if sum == want.CPUs {
			yield(n)
		}
	}
}

// anywhere returns a tier for container c that is the whole machine. The tier's cost prefers the
// NUMA nodes where the pod needs the fewest CPUs in addition to those that it already holds. The
// policy decides between NUMA nodes for which this number is equal. With the policy "spread", a CPU
// beyond the even share goes to the NUMA node with the most free CPUs. With the policy "single",
// the container goes to the NUMA node with the fewest free CPUs (best fit).
func (s *search) anywhere(c int) Tier {
	rooms := make([]Room, len(s.NUMA))
	for n := range rooms {
		held := s.peak(n)
		free := max(0, s.NUMA[n].FreeCPUs-held)
		rooms[n] = Room{Idle: held - s.beside(c, n), Free: free, Whole: free, Loose: s.wholeCores(held) - held}
	}
	return Tier{Rooms: rooms, Cost: func(n, from, to int) Cost {
		r := rooms[n]
		fresh := r.fresh(to) - r.fresh(from)
		if from > 0 || s.Policy == podspec.Spread {
			return Cost{fresh, -r.Free}
		}
		return Cost{fresh, r.Free - fresh}
	}}
}

// single yields the ways to place k CPUs on one NUMA node, in the order of their cost, lowest
// first.
func (t Tier) single(k int) iter.Seq[Counts] {
	return func(yield func(Counts) bool) {
		for _, n := range t.cheapest(0, k) {
			counts := make(Counts, len(t.Rooms))
			counts[n] = k
			if !yield(counts) {
				return
			}
		}
	}
}

// spread yields the ways to place an even share of k CPUs on every NUMA node. If k is not a
// multiple of the number of NUMA nodes, the remaining CPUs go to different NUMA nodes. In the first
// of the ways, they are on the NUMA nodes with the lowest cost.
func (t Tier) spread(k int) iter.Seq[Counts] {
	return func(yield func(Counts) bool) {
		share, odd := k/len(t.Rooms), k%len(t.Rooms)
		if slices.ContainsFunc(t.Rooms, func(r Room) bool { return r.have() < share }) {
			return
		}
		able := t.cheapest(share, share+1)
		for chosen := range combinations(len(able), odd) {
			counts := slices.Repeat(Counts{share}, len(t.Rooms))
			for _, i := range chosen {
				counts[able[i]]++
			}
			if !yield(counts) {
				return
			}
		}
	}
}

// cheapest returns the NUMA nodes on which the container can get `to` CPUs. They are sorted by
// t.Cost(n, from, to), lowest first.
func (t Tier) cheapest(from, to int) []int {
	able, few := make([]int, 0, len(t.Rooms)), [8]Cost{}
	costs := few[:]
	if len(t.Rooms) > len(costs) {
		costs = make([]Cost, len(t.Rooms))
	}
	for n, r := range t.Rooms {
		if r.have() >= to {
			able = append(able, n)
			costs[n] = t.Cost(n, from, to)
		}
	}
	slices.SortStableFunc(able, func(a, b int) int { return slices.Compare(costs[a][:], costs[b][:]) })
	return able
}

// combinations yields all choices of k of the numbers 0 to n-1, in lexicographic order. It yields
// the same slice each time, with new contents.
func combinations(n, k int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		if k > n {
			return
		}
		at := make([]int, k)
		for i := range at {
			at[i] = i
		}
		for yield(at) {
			i := k - 1
			for i >= 0 && at[i] == n-k+i {
				i--
			}
			if i < 0 {
				return
			}
			at[i]++
			for j := i + 1; j < k; j++ {
				at[j] = at[j-1] + 1
			}
		}
	}
}

// random yields the distribution that the pod's seed selects for the CPUs of container c. If no
// container of the pod has PerNode, this distribution is enough: containers are placed in the order
// in which they start, and each first reuses CPUs that other containers of the pod leave idle. So
// with this distribution, the pod holds only as many CPUs as its containers use at one time. No
// distribution needs fewer CPUs, so if this one does not fit, none does. If some containers have
// PerNode, the method then yields all distributions.
func (s *search) random(c int, t Tier) iter.Seq[Counts] {
	k := s.Containers[c].CPUs
	return func(yield func(Counts) bool) {
		first, ok := t.drawn(k, s.Seed)
		if !ok || !yield(first) || s.Containers[s.order[0]].PerNode == nil {
			return
		}
		t.each(make(Counts, 0, len(t.Rooms)), k, yield)
	}
}

// drawn distributes k CPUs over NUMA nodes, or returns false if there are too few. First it uses
// CPUs of other containers of the pod that this container may reuse. If CPUs are missing then, it
// uses free CPUs in cores where the pod already holds another CPU. If CPUs are still missing, it
// takes them from the NUMA node that can provide the most of them (see the function `roomiest`),
// and repeats this until it has k CPUs. The seed decides between NUMA nodes that are equally good.
func (t Tier) drawn(k int, seed uint64) (Counts, bool) {
	counts, left := make(Counts, len(t.Rooms)), slices.Clone(t.Rooms)
	for n := range left {
		own := min(left[n].Idle, k)
		counts[n] += own
		k -= own
	}
	for n := range left {
		k -= give(&left[n], &counts[n], min(left[n].Loose, left[n].Free, k))
	}
	if k == 0 {
		return counts, true
	}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(left))
	for k > 0 {
		n, cpus := roomiest(order, left, k)
		if cpus == 0 {
			return nil, false
		}
		k -= give(&left[n], &counts[n], cpus)
	}
	return counts, true
}

// give subtracts the given number of CPUs from the free CPUs of r, and adds it to *count. It
// returns the same number, so that the caller can subtract it from the CPUs that are still missing.
func give(r *Room, count *int, cpus int) int {
	*count += cpus
	r.Free -= cpus
	r.Whole -= min(cpus, r.Whole)
	return cpus
}

// roomiest returns the NUMA node that can provide the most of k CPUs, and how many it can provide.
// If one NUMA node has k free CPUs in whole cores, only CPUs in whole cores count. If none has, but
// one has k free CPUs, all free CPUs count. If no NUMA node has k free CPUs, only CPUs in whole
// cores count, or all free CPUs if no NUMA node has a CPU in a whole core. If several NUMA nodes can
// provide equally many CPUs, roomiest returns the one that comes first in `order`.
func roomiest(order []int, left []Room, k int) (node, cpus int) {
	most := func(have func(Room) int) int {
		return slices.MaxFunc(order, func(a, b int) int { return cmp.Compare(min(k, have(left[a])), min(k, have(left[b]))) })
	}
	whole, free := most(func(r Room) int { return r.Whole }), most(func(r Room) int { return r.Free })
	if cpus = min(k, left[whole].Whole); cpus == k || cpus > 0 && left[free].Free < k {
		return whole, cpus
	}
	return free, min(k, left[free].Free)
}

// The method `each` yields all distributions that begin with the numbers given as `counts` and have
// k more CPUs on the remaining NUMA nodes. When the function given as `yield` returns false, the
// method stops and returns false.
func (t Tier) each(counts Counts, k int, yield func(Counts) bool) bool {
	n := len(counts)
	if n == len(t.Rooms) {
		return k > 0 || yield(slices.Clone(counts))
	}
	for here := min(k, t.Rooms[n].have()); here >= 0; here-- {
		if !t.each(append(counts, here), k-here, yield) {
			return false
		}
	}
	return true
}
