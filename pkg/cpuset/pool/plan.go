package pool

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
)

// plan places the containers of one pod, all or nothing, without changing the
// ledger.
type plan struct {
	ledger *Ledger
	pod    Pod
	free   cpuset.Set // at the start
	claims []Claim    // as Pod.Containers; no CPUs: not placed yet
}

// plan returns the claims of a pod, out of free: those of the order of
// containers that makes it hold the fewest CPUs.
//
// In the order in which they run, each container takes what is idle at its
// start, and the pod holds on each NUMA node exactly the most that it uses
// there at one time (a container's life is an interval, and first come first
// served colours intervals optimally). But the policy single may then seat a
// small init container on a node where a large app has no room; biggest first
// avoids that, and packs better.
func (l *Ledger) plan(pod Pod, free cpuset.Set) ([]Claim, *Refusal) {
	running := inTurn(pod.Containers)
	biggest := biggestFirst(pod.Containers)
	best, refusal := l.inOrder(pod, free, running)
	if !slices.Equal(running, biggest) {
		other, r := l.inOrder(pod, free, biggest)
		if r == nil && (refusal != nil || held(other).Len() < held(best).Len()) {
			return other, nil
		}
	}
	return best, refusal
}

// inTurn returns the order in which the containers run: 0, 1, 2, …
func inTurn(wants []podspec.Container) []int {
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	return order
}

// biggestFirst returns the containers that name their counts, which have no
// choice, and then the others, each by falling count.
func biggestFirst(wants []podspec.Container) []int {
	order := inTurn(wants)
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := wants[i], wants[j]
		if (a.PerNode == nil) != (b.PerNode == nil) {
			return cmp.Compare(len(b.PerNode), len(a.PerNode))
		}
		return cmp.Compare(b.CPUs, a.CPUs)
	})
	return order
}

func (l *Ledger) inOrder(pod Pod, free cpuset.Set, order []int) ([]Claim, *Refusal) {
	p := plan{ledger: l, pod: pod, free: free, claims: make([]Claim, len(pod.Containers))}
	for i, w := range pod.Containers {
		p.claims[i] = Claim{Container: w.Name, Kind: w.Kind}
	}
	for _, i := range order {
		if r := p.place(i); r != nil {
			return nil, r
		}
	}
	return p.claims, nil
}

// place chooses the CPUs of container i, of one class if that can be.
func (p *plan) place(i int) *Refusal {
	o := p.offer(i)
	for _, class := range o.classes {
		if cpus, ok := o.within(class).choose(); ok {
			p.claims[i].CPUs = cpus
			if o.binds() {
				p.bind(i)
			}
			return nil
		}
	}
	return o.refuse()
}

// offer gathers what container i may choose from.
func (p *plan) offer(i int) *offer {
	var all, busy cpuset.Set
	for j, c := range p.claims {
		all = all.Union(c.CPUs)
		if j != i && beside(p.claims, i, j) {
			busy = busy.Union(c.CPUs)
		}
	}
	return &offer{
		layout: &p.ledger.layout,
		policy: p.pod.Policy,
		seed:   p.pod.Seed,
		want:   p.pod.Containers[i],
		own:    all.Minus(busy),
		free:   p.free.Minus(all),
		room:   func(n node) uint64 { return p.room(i, n) },
	}
}

// bind binds the memory of container i to that nearest to its CPUs.
func (p *plan) bind(i int) {
	for _, n := range p.ledger.layout.nodes {
		if n.cpus.Overlaps(p.claims[i].CPUs) {
			p.claims[i].Mems = n.mems
			p.claims[i].MemoryBytes = p.pod.Containers[i].MemoryBytes
		}
	}
}

// room returns the bytes left for container i in the memory nearest to n: what
// it would add must not raise the pod's own peak above it.
func (p *plan) room(i int, n node) uint64 {
	return p.ledger.layout.freeMemory(n.mems, append(p.ledger.claims(), p.besides(i))...)
}

// besides returns the claims that may run beside container i, as if none
// other existed.
func (p *plan) besides(i int) []Claim {
	var claims []Claim
	for j, c := range p.claims {
		if j != i && beside(p.claims, i, j) {
			claims = append(claims, c)
		}
	}
	return claims
}
