package pool

import (
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Homes lists CPUs by their NUMA node. The kernel does not report the NUMA node of an offline CPU,
// so the NUMA node must be recorded while the CPU is online.
type Homes map[topology.NodeID]cpuset.Set

// Homes returns the given CPUs by NUMA node. It leaves out CPUs that are offline or in no NUMA
// node.
func (l *Ledger) Homes(cpus cpuset.Set) Homes {
	homes := Homes{}
	for _, n := range l.layout.nodes {
		if here := n.cpus.Intersect(cpus); !here.Empty() {
			homes[n.id] = here
		}
	}
	return homes
}

// Lost returns the CPUs of a claim that are offline.
func (l *Ledger) Lost(c Claim) cpuset.Set { return c.CPUs.Minus(l.layout.online) }

// Replace exchanges each offline CPU of a pod for a free CPU of the same NUMA node. The parameter
// `homes` says to which NUMA node each of the pod's CPUs belongs. If that NUMA node has no free
// CPU, or if no CPU would stay shared, the pod keeps the offline CPU, and can use this CPU again
// once it is online. Replace returns the pod's grant, and whether the grant has changed.
func (l *Ledger) Replace(uid string, homes Homes) (g Grant, changed bool) {
	g = l.grants[uid]
	for lost := range g.used().Minus(l.layout.online).All() {
		if free, ok := l.substitute(g, lost, homes); ok {
			g, changed = g.exchange(lost, free), true
			l.Release(uid)
			l.enter(g)
		}
	}
	return g, changed
}

// substitute returns a free CPU of the NUMA node that had the lost CPU. If there are several, it
// prefers those in cores where the pod already holds a CPU. Among these, it returns the CPU that
// domain.take chooses. It returns false if the NUMA node has no free CPU, or if no CPU would stay
// shared.
func (l *Ledger) substitute(g Grant, lost cpuset.CPU, homes Homes) (cpuset.CPU, bool) {
	for i := range l.layout.nodes {
		n := &l.layout.nodes[i]
		free := l.Free().Intersect(n.cpus)
		if !homes[n.id].Has(lost) || free.Empty() {
			continue
		}
		if own := free.Intersect(l.layout.siblings(g.CPUs())); !own.Empty() {
			free = own
		}
		s := l.layout.stock(free)
		n.take(1, s)
		return s.taken[0], !l.starves(cpuset.Of(s.taken[0]))
	}
	return 0, false
}

// used returns the CPUs on which the pod's containers may run. These are all CPUs that the pod
// holds, without those that containers have given back (Claim.Leaving).
func (g Grant) used() (all cpuset.Set) {
	for _, c := range g.Claims {
		all = all.Union(c.CPUs)
	}
	return all
}

// exchange returns a copy of the grant. In all claims of the copy, the CPU given as `other` takes
// the place of the CPU given as `lost`.
func (g Grant) exchange(lost, other cpuset.CPU) Grant {
	g.Claims = slices.Clone(g.Claims)
	for i, c := range g.Claims {
		if c.CPUs.Has(lost) {
			g.Claims[i].CPUs = c.CPUs.Minus(cpuset.Of(lost)).Union(cpuset.Of(other))
			g.Claims[i].Grown = exchangeIn(c.Grown, lost, other)
		}
	}
	return g
}

func exchangeIn(grown []cpuset.Set, lost, other cpuset.CPU) []cpuset.Set {
	grown = slices.Clone(grown)
	for i, cpus := range grown {
		if cpus.Has(lost) {
			grown[i] = cpus.Minus(cpuset.Of(lost)).Union(cpuset.Of(other))
		}
	}
	return grown
}
