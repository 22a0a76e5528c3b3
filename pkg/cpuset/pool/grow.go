package pool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
)

// growth is the CPUs that a container may get in addition to those that it has.
type growth struct {
	*layout
	policy  podspec.Policy
	current cpuset.Set // the CPUs that the container has now
	own     cpuset.Set // CPUs that the container's pod holds already and that the container may use
	free    cpuset.Set // CPUs that no pod holds
}

// The method `more` returns k more CPUs for the container of g.Claims[i]. (A Grant is what one pod
// holds, and a Claim is what one container of the pod holds.) If possible, the new CPUs are of the
// same class (kind of core and isolation; see layout.classes) as the container's present CPUs. At
// least one CPU of the machine stays shared.
func (l *Ledger) more(g Grant, i, k int) (cpuset.Set, error) {
	all := l.growth(g, i)
	spares := []cpuset.Set{{}}
	if l.starves(all.free) {
		for n := range l.layout.nodes {
			spares = append(spares, l.spareOf(&l.layout.nodes[n], all.free))
		}
	}
	for _, class := range l.layout.classes {
		if !all.current.SubsetOf(class) {
			continue
		}
		for _, spare := range spares {
			part := all
			part.own, part.free = part.own.Intersect(class), part.free.Intersect(class).Minus(spare)
			if cpus, ok := part.choose(k); ok && !l.starves(cpus) {
				return cpus, nil
			}
		}
	}
	return cpuset.Set{}, all.refuse(k)
}

// growth returns the CPUs that the container of g.Claims[i] may get in addition to those that it
// has.
func (l *Ledger) growth(g Grant, i int) growth {
	var busy cpuset.Set
	for j, c := range g.Claims {
		if j != i && beside(g.Claims, i, j) {
			busy = busy.Union(c.held())
		}
	}
	current, pods := g.Claims[i].CPUs, g.CPUs()
	// With FullCores (pods share no cores), Free leaves out the idle CPUs of a core if a pod holds
	// another CPU of that core. But this pod may get the idle CPUs of its own cores. So the pod is
	// removed from the ledger while Free is called.
	l.Release(g.UID)
	free := l.Free().Minus(pods)
	l.enter(g)
	own := pods.Minus(busy).Minus(current).Intersect(l.layout.placed)
	return growth{&l.layout, g.Policy, current, own, free}
}

// choose returns k more CPUs for the container, distributed over NUMA nodes by the pod's policy. It
// returns false if o.own and o.free have too few CPUs on the NUMA nodes that the policy allows.
func (o growth) choose(k int) (cpuset.Set, bool) {
	room := o.counts(o.own.Union(o.free))
	counts, ok := numaplan.Grow(o.policy, o.counts(o.current), room, k)
	if !ok {
		return cpuset.Set{}, false
	}
	owned, fresh := o.stock(o.own), o.stock(o.free)
	for i, count := range counts {
		n := &o.nodes[i]
		count -= n.takeSome(count, owned)
		for c := n.first; c < n.end && count > 0; c++ {
			if o.cores[c].count(o.current) > 0 {
				count -= fresh.grab(c, count)
			}
		}
		n.takeNear(count, fresh, o.current)
	}
	return cpuset.Of(owned.taken...).Union(cpuset.Of(fresh.taken...)), true
}

// takeNear takes k free CPUs of the NUMA node d, or all if d has fewer. It first takes CPUs that
// share a last-level cache with the container's present CPUs (the parameter `current`), then CPUs
// in the same package as present CPUs, then other CPUs of d. It returns how many CPUs it took.
func (d *domain) takeNear(k int, s *stock, current cpuset.Set) (taken int) {
	if k == 0 || !slices.ContainsFunc(s.cores[d.first:d.end], func(c core) bool { return c.count(current) > 0 }) {
		if d.level == nodeLevel {
			return d.takeSome(k, s)
		}
		return 0
	}
	for i := range d.parts {
		taken += d.parts[i].takeNear(k-taken, s, current)
	}
	return taken + d.takeSome(k-taken, s)
}

// counts returns how many of the given CPUs each NUMA node has, in the order of l.nodes.
func (l *layout) counts(cpus cpuset.Set) numaplan.Counts {
	counts := make(numaplan.Counts, len(l.nodes))
	for i := range l.nodes {
		counts[i] = l.nodes[i].cpus.Intersect(cpus).Len()
	}
	return counts
}

// byCount returns the indexes of the slice `counts`, sorted by count. The index of the highest
// count is first.
func byCount(counts []int) []int {
	order := make([]int, len(counts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	return order
}

// refuse returns an error that says why the container cannot get k more CPUs.
func (o growth) refuse(k int) error {
	able := o.own.Union(o.free)
	free := numaplan.Numbers(o.perNode(able))
	_, enough := numaplan.Grow(o.policy, o.counts(o.current), o.counts(able), k)
	switch {
	case enough:
		return fmt.Errorf("with %d more, no CPU would be left to the containers that share", k)
	case o.policy == podspec.Single:
		return fmt.Errorf("%d more must be on its NUMA node (policy single), and free are %s", k, free)
	case o.policy == podspec.Spread:
		return fmt.Errorf("with %d more it must stay spread evenly (policy spread), and free are %s", k, free)
	}
	return fmt.Errorf("%d more are needed, and free are %s", k, free)
}
