package pool

import (
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
)

// Grow gives a container more CPUs, so that it has n of them. The container keeps the CPUs that it
// has. All n CPUs together satisfy the pod's policy: with the policy "single" they are on one NUMA
// node, and with the policy "spread" they are distributed evenly. Grow first takes CPUs that the
// pod already holds and that the container may use: CPUs that the container has given back
// (Claim.Leaving), and CPUs of containers that never run at the same time as this container. If the
// container already has n CPUs or more, Grow changes nothing. If Grow fails, the error says why the
// container cannot get more CPUs, and the ledger has not changed.
func (l *Ledger) Grow(uid, container string, n int) (Grant, error) {
	g, i, err := l.claimOf(uid, container)
	if err != nil {
		return Grant{}, err
	}
	k := n - g.Claims[i].CPUs.Len()
	if k <= 0 {
		return g, nil
	}
	more, err := l.more(g, i, k)
	if err != nil {
		return Grant{}, err
	}
	return l.change(g, i, func(c *Claim) {
		c.CPUs = c.CPUs.Union(more)
		c.Leaving = c.Leaving.Minus(more)
		c.Grown = append(slices.Clone(c.Grown), more)
	}), nil
}

// Shrink takes CPUs away from a container, which then has only the CPUs given as `kept`.
// Ledger.Keep chooses which CPUs these are. The pod still holds the CPUs that were taken from the
// container, until Return is called. An error means that the ledger has no such container, or that
// the set given as `kept` is empty or has CPUs that the container does not have.
func (l *Ledger) Shrink(uid, container string, kept cpuset.Set) (Grant, error) {
	g, i, err := l.claimOf(uid, container)
	if err != nil {
		return Grant{}, err
	}
	held := g.Claims[i].CPUs
	if kept.Empty() || !kept.SubsetOf(held) {
		return Grant{}, fmt.Errorf("container %q holds CPUs %s and cannot keep CPUs %q", container, held, kept)
	}
	return l.change(g, i, func(c *Claim) {
		c.Leaving = c.Leaving.Union(held.Minus(kept))
		c.CPUs = kept
		c.Grown = nil
		for _, grown := range g.Claims[i].Grown {
			if left := grown.Intersect(kept); !left.Empty() {
				c.Grown = append(c.Grown, left)
			}
		}
	}), nil
}

// Return releases the CPUs that the pod's containers have given back (Claim.Leaving). It returns
// the grant that the pod still holds.
func (l *Ledger) Return(uid string) Grant {
	g, ok := l.grants[uid]
	if !ok {
		return g
	}
	g.Claims = slices.Clone(g.Claims)
	for i := range g.Claims {
		g.Claims[i].Leaving = cpuset.Set{}
	}
	l.exchangeGrant(g)
	return g
}

// Bind changes how much memory a container binds on the NUMA nodes of its claim (Claim.Mems). If
// these NUMA nodes have too little free memory, Bind returns an error that says how much is free,
// and the ledger has not changed.
func (l *Ledger) Bind(uid, container string, bytes uint64) (Grant, error) {
	g, i, err := l.claimOf(uid, container)
	if err != nil {
		return Grant{}, err
	}
	c := g.Claims[i]
	free := l.layout.freeMemory(c.Mems, l.claims()...)
	if bytes > c.MemoryBytes && bytes-c.MemoryBytes > free {
		return Grant{}, fmt.Errorf("its memory is bound to the NUMA nodes %v, where %d more bytes are free, and %d more are needed", c.Mems, free, bytes-c.MemoryBytes)
	}
	return l.change(g, i, func(c *Claim) { c.MemoryBytes = bytes }), nil
}

// Keep returns the n CPUs that a container keeps when it shrinks: those that it has had longest.
// With the policy "spread", Keep first decides how many CPUs the container keeps on each NUMA node.
// These numbers are as even as possible. Keep then chooses, on each NUMA node, the CPUs that the
// container has had longest. Of CPUs that the container got at the same time, Keep prefers whole
// cores, as domain.take does. If the container has fewer than n CPUs, Keep returns all of them.
func (l *Ledger) Keep(uid, container string, n int) cpuset.Set {
	g, i, err := l.claimOf(uid, container)
	if err != nil {
		return cpuset.Set{}
	}
	c := g.Claims[i]
	if g.Policy != podspec.Spread {
		return l.oldest(c, c.CPUs, n)
	}
	var kept cpuset.Set
	for i, count := range numaplan.ShrinkSpread(l.layout.counts(c.CPUs), n) {
		kept = kept.Union(l.oldest(c, c.CPUs.Intersect(l.layout.nodes[i].cpus), count))
	}
	return kept
}

// oldest returns n CPUs of the set given as `among`. It first takes CPUs that the container got at
// its start, then CPUs that calls of Grow added, in the order of these calls.
func (l *Ledger) oldest(c Claim, among cpuset.Set, n int) cpuset.Set {
	first := among
	for _, grown := range c.Grown {
		first = first.Minus(grown)
	}
	var kept cpuset.Set
	for _, together := range append([]cpuset.Set{first}, c.Grown...) {
		together = together.Intersect(among)
		kept = kept.Union(l.layout.some(together, min(n-kept.Len(), together.Len())))
	}
	return kept
}

// The method `some` returns k of the given CPUs, from as few NUMA nodes as possible. Within a NUMA
// node, it prefers CPUs as domain.take does. CPUs that are offline or in no NUMA node come last.
func (l *layout) some(cpus cpuset.Set, k int) cpuset.Set {
	s := l.stock(cpus)
	for _, i := range byCount(l.counts(cpus)) {
		l.nodes[i].takeSome(k-len(s.taken), s)
	}
	taken := cpuset.Of(s.taken...)
	for cpu := range cpus.Minus(taken).All() {
		if taken.Len() < k {
			taken = taken.Union(cpuset.Of(cpu))
		}
	}
	return taken
}

// claimOf returns a pod's grant and the index of a container's claim in it.
func (l *Ledger) claimOf(uid, container string) (Grant, int, error) {
	g := l.grants[uid]
	i := slices.IndexFunc(g.Claims, func(c Claim) bool { return c.Container == container })
	if i < 0 {
		return g, i, fmt.Errorf("pod %s has no container %q with exclusive CPUs", uid, container)
	}
	return g, i, nil
}

// change edits a copy of claim i of a grant, stores the grant with the edited claim in the ledger,
// and returns this new grant.
func (l *Ledger) change(g Grant, i int, edit func(*Claim)) Grant {
	g.Claims = slices.Clone(g.Claims)
	edit(&g.Claims[i])
	l.exchangeGrant(g)
	return g
}

// exchangeGrant stores a grant in place of the grant that the same pod has had.
func (l *Ledger) exchangeGrant(g Grant) {
	l.Release(g.UID)
	l.enter(g)
}
