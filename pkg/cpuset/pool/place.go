package pool

import (
	"iter"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
)

// place returns what each container of a pod would hold (its Claim), or why the pod does not fit
// and what would help. It does not change the ledger.
func (l *Ledger) place(pod Pod) ([]Claim, *numaplan.Refusal) {
	if pod.UID == "" {
		return nil, &numaplan.Refusal{Reason: numaplan.Invalid, Policy: pod.Policy, Detail: "the pod has no UID"}
	}
	if r := numaplan.Validate(pod.request(), l.Capacity()); r != nil {
		return nil, r
	}
	p := l.placer(pod)
	counts, reason := p.plan()
	if reason != numaplan.Fits {
		return nil, p.refuse()
	}
	claims, ok := p.assign(counts)
	if !ok {
		return nil, &numaplan.Refusal{
			Reason: numaplan.NoneShared, Policy: pod.Policy, CPUs: held(claims).Len(), Free: l.layout.perNode(p.free),
		}
	}
	return claims, nil
}

func (p Pod) request() numaplan.Request {
	return numaplan.Request{Policy: p.Policy, Seed: p.Seed, Containers: p.Containers}
}

// placer chooses the CPUs of one pod. Package numaplan decides how many CPUs each container gets on
// each NUMA node, and placer chooses the CPU ids. It does not change the ledger.
type placer struct {
	ledger *Ledger
	pod    Pod
	free   cpuset.Set   // free CPUs before any container of the pod is placed
	spare  []cpuset.Set // for each NUMA node, the free CPUs to leave out if the pod would otherwise get all CPUs that are shared now (spareOf)
	view   numaplan.View
	// The field `first` has the offers to one container, one offer for each class of CPUs (see
	// layout.classes). The container's index is firstOf. The method `plan` computes these offers
	// before any container of the pod is placed. If the pod has one container, these offers stay
	// valid, so the method `assign` uses them instead of computing them again.
	first   []*offer
	firstOf int
}

func (l *Ledger) placer(pod Pod) *placer {
	p := &placer{ledger: l, pod: pod, free: l.Free()}
	p.spare = make([]cpuset.Set, len(l.layout.nodes))
	p.view = numaplan.View{NUMA: make([]numaplan.NUMANode, len(l.layout.nodes)), KeepShared: l.starves(p.free)}
	for i := range l.layout.nodes {
		n := &l.layout.nodes[i]
		if p.view.KeepShared {
			p.spare[i] = l.spareOf(n, p.free)
		}
		p.view.NUMA[i] = numaplan.NUMANode{ID: n.id, FreeCPUs: n.cpus.Intersect(p.free).Len(), Spare: p.spare[i].Len()}
	}
	if p.binds() {
		p.viewMemory()
	}
	return p
}

// viewMemory adds to p.view how many bytes are free in the memory nearest to each NUMA node.
// Package numaplan chooses NUMA nodes by p.view.
func (p *placer) viewMemory() {
	nodes, claims := p.ledger.layout.nodes, p.ledger.claims()
	for i, n := range nodes {
		on := &p.view.NUMA[i]
		on.FreeMemory = int64(p.ledger.layout.freeMemory(n.mems, claims...))
		for j, other := range nodes {
			if slices.ContainsFunc(other.mems, n.hasNear) {
				on.Near = append(on.Near, j)
			}
		}
		if len(on.Near) == 1 {
			on.Near = nil // no other NUMA node has the same nearest memory; Near is nil then (see numaplan.NUMANode)
		}
	}
}

// binds reports whether the pod binds memory to NUMA nodes.
func (p *placer) binds() bool {
	return p.pod.Policy == podspec.Single &&
		slices.ContainsFunc(p.pod.Containers, func(c podspec.Container) bool { return c.MemoryBytes > 0 })
}

// spareOf returns the smallest set of a NUMA node's free CPUs that can stay shared if all other
// CPUs of the NUMA node become exclusive. The set is one CPU that is not isolated. With FullCores,
// it is a whole core with such a CPU. It is empty if every free CPU of the NUMA node is isolated.
func (l *Ledger) spareOf(n *node, free cpuset.Set) cpuset.Set {
	able := free.Intersect(n.cpus).Minus(l.layout.isolated)
	first, ok := able.First()
	if !ok || !l.options.FullCores {
		return cpuset.Of(first).Intersect(able)
	}
	var best cpuset.Set
	for _, core := range l.layout.cores[n.domain.first:n.domain.end] {
		if cpus := cpuset.Of(core...); cpus.Overlaps(able) && (best.Empty() || cpus.Len() < best.Len()) {
			best = cpus
		}
	}
	return best
}

// plan returns how many CPUs each container gets on each NUMA node.
func (p *placer) plan() ([]numaplan.Counts, numaplan.Outcome) {
	return numaplan.Plan(p.pod.request(), p.view, p.hooks())
}

func (p *placer) hooks() numaplan.Hooks { return numaplan.Hooks{Tiers: p.tiers} }

// refuse returns why the pod does not fit. To say what would help, it makes two attempts: to place
// the pod on the machine without the other pods, and to place it beside the other pods with the
// policy "random".
func (p *placer) refuse() *numaplan.Refusal {
	r := numaplan.Explain(p.pod.request(), p.view, p.hooks())
	alone := &Ledger{layout: p.ledger.layout, options: p.ledger.options}
	r.Never = !alone.fits(p.pod)
	atRandom := p.pod
	atRandom.Policy = podspec.Random
	r.AtRandom = p.ledger.fits(atRandom)
	return r
}

func (l *Ledger) fits(pod Pod) bool {
	_, reason := l.placer(pod).plan()
	return reason == numaplan.Fits
}

// tiers yields, for each class of CPUs (see layout.classes), how many CPUs of this class container
// `c` may get on each NUMA node. The parameter `placed` has, for each container placed so far, how
// many CPUs it gets on each NUMA node.
func (p *placer) tiers(c int, placed []numaplan.Counts) iter.Seq[numaplan.Tier] {
	claims, free, ok := p.claims(), p.free, true
	for i, counts := range placed {
		if counts != nil && ok {
			ok = p.carve(claims, i, counts, free, p.ledger.layout.classes)
		}
	}
	return func(yield func(numaplan.Tier) bool) {
		if !ok {
			return
		}
		offers := p.offers(claims, c, free, p.ledger.layout.classes)
		if held(claims).Empty() {
			p.first, p.firstOf = offers, c
		}
		for _, o := range offers {
			if !yield(o.tier()) {
				return
			}
		}
	}
}

// assign chooses the CPUs of all containers, in the order in which the containers start, such that
// at least one CPU that is not isolated stays shared. It first tries to take each container's CPUs
// from one class (see layout.classes). A container then cannot reuse the CPUs of an earlier
// container if these are of another class, so the pod may need more CPUs than its containers use at
// one time. If the containers do not fit for this reason, assign ignores classes. It returns false
// if no CPU could stay shared. This happens only with FullCores on a machine where a core spans
// NUMA nodes: there, if CPUs of the core are taken on one NUMA node, the core's CPU on another NUMA
// node has to stay idle, and this may be the CPU that was to stay shared.
func (p *placer) assign(counts []numaplan.Counts) (claims []Claim, ok bool) {
	all := p.ledger.layout.classes
	for _, classes := range [][]cpuset.Set{all, all[len(all)-1:]} {
		if claims, ok = p.within(counts, p.free, classes); ok {
			return claims, true
		}
		for i := range p.spare {
			if p.spare[i].Empty() {
				continue
			}
			if sparing, ok := p.within(counts, p.free.Minus(p.spare[i]), classes); ok {
				return sparing, true
			}
		}
	}
	return claims, false
}

// The method `within` chooses the CPUs of all containers from the set given as `free`. It returns
// false if they do not fit, or if no CPU that is not isolated would stay shared.
func (p *placer) within(counts []numaplan.Counts, free cpuset.Set, classes []cpuset.Set) ([]Claim, bool) {
	claims := p.claims()
	for i := range claims {
		if !p.carve(claims, i, counts[i], free, classes) {
			return nil, false
		}
		if p.pod.Policy == podspec.Single && p.pod.Containers[i].MemoryBytes > 0 {
			p.bind(claims, i)
		}
	}
	return claims, !p.view.KeepShared || !p.ledger.starves(held(claims))
}

// claims returns a Claim for each container of the pod, in which the field CPUs is not set yet.
func (p *placer) claims() []Claim {
	claims := make([]Claim, len(p.pod.Containers))
	for i, c := range p.pod.Containers {
		claims[i] = Claim{Container: c.Name, Kind: c.Kind}
	}
	return claims
}

// carve chooses the CPUs of container i from the first class of CPUs (see layout.classes) that has
// enough. The parameter `counts` says how many CPUs the container must get on each NUMA node. If no
// class has enough, carve returns false.
func (p *placer) carve(claims []Claim, i int, counts numaplan.Counts, free cpuset.Set, classes []cpuset.Set) bool {
	offers := p.first
	if p.firstOf == i && len(p.first) == len(classes) && held(claims).Empty() && free.Equal(p.free) {
		p.first = nil // these offers cannot be used again, because the method `take` changes them below
	} else {
		offers = p.offers(claims, i, free, classes)
	}
	for _, o := range offers {
		if cpus, ok := o.take(counts); ok {
			claims[i].CPUs = cpus
			return true
		}
	}
	return false
}

// bind records that the memory of container i is bound to the NUMA nodes with memory that are
// nearest to its CPUs.
func (p *placer) bind(claims []Claim, i int) {
	for _, n := range p.ledger.layout.nodes {
		if n.cpus.Overlaps(claims[i].CPUs) {
			claims[i].Mems = n.mems
			claims[i].MemoryBytes = p.pod.Containers[i].MemoryBytes
		}
	}
}
