package fragmentation

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// measure computes how much of a node's free GPUs is lost to a workload. The workload does not
// include pods that request no GPU, because all GPUs on every node are useless to them.
//
//	lost(n) = Σ p(m) · ( f(n, m) + s(n, m) )  over the kinds m of pods, p(m) their share
//	f(n, m) = the free capacity of all GPUs of n                 if m does not fit n
//	          the free capacity of the GPUs that m cannot use    otherwise
//	s(n, m) = the capacity that stays free if n is filled up with pods of kind m only
//
// f is the measure of FGD. It considers only whether one more pod fits, so it does not change
// until the last CPU of a node is used. s also considers that the CPUs can be used up before
// the GPUs. With the pods of openb's trace in their order, f alone allocates 93.6 % of the GPUs,
// and both together 95.4 %.
type measure []group

// group has the kinds of pods that request the same GPUs.
type group struct {
	count  int
	milli  sched.MilliGPU
	types  []string
	share  float64        // of all kinds
	cpu    sched.MilliCPU // the most that one of them requests
	memory sched.Bytes
	needs  []need
}

// need has the requests of one kind of pods for other resources than GPUs.
type need struct {
	cpu    sched.MilliCPU
	memory sched.Bytes
	share  float64
}

// newMeasure groups the kinds. The groups that need the largest part of a GPU come first.
func newMeasure(kinds []want) (m measure) {
	kinds = slices.Clone(kinds)
	slices.SortStableFunc(kinds, func(a, b want) int {
		return cmp.Or(cmp.Compare(b.milli, a.milli), cmp.Compare(a.count, b.count), slices.Compare(a.types, b.types))
	})
	for _, k := range kinds {
		if last := len(m) - 1; last < 0 || m[last].milli != k.milli || m[last].count != k.count || !slices.Equal(m[last].types, k.types) {
			m = append(m, group{count: k.count, milli: k.milli, types: k.types})
		}
		g := &m[len(m)-1]
		g.share, g.cpu, g.memory = g.share+k.share, max(g.cpu, k.cpu), max(g.memory, k.memory)
		g.needs = append(g.needs, need{k.cpu, k.memory, k.share})
	}
	return m
}

// lost returns lost(n), in thousandths of a GPU. O(groups · lots), and O(kinds) where CPU or
// memory is scarce.
func (m measure) lost(s *stock) float64 {
	free := s.free()
	if free == 0 {
		return 0
	}
	sum := 0.0
	for i := range m {
		g := &m[i]
		r := g.room(s)
		pods := r.slots / g.count
		switch {
		case r.able < g.count:
			sum += g.share * float64(2*free)
		case g.cpu*sched.MilliCPU(pods) <= s.cpu && g.memory*sched.Bytes(pods) <= s.memory:
			sum += g.share * float64(r.small+free-g.used(pods))
		default:
			sum += g.scarce(s, r, pods, free)
		}
	}
	return sum
}

// scarce returns the group's part of lost(n) if some of its kinds cannot use all GPUs because CPU
// or memory is short. pods is the number of pods for which the GPUs suffice.
func (g *group) scarce(s *stock, r room, pods int, free sched.MilliGPU) (sum float64) {
	for i := range g.needs {
		n := &g.needs[i]
		if n.cpu > s.cpu || n.memory > s.memory {
			sum += n.share * float64(2*free)
			continue
		}
		fit := pods
		if n.cpu*sched.MilliCPU(fit) > s.cpu {
			fit = int(s.cpu / n.cpu)
		}
		if n.memory*sched.Bytes(fit) > s.memory {
			fit = int(s.memory / n.memory)
		}
		sum += n.share * float64(r.small+free-g.used(fit))
	}
	return sum
}

// used returns the capacity that pods of the group use.
func (g *group) used(pods int) sched.MilliGPU { return sched.MilliGPU(pods*g.count) * g.milli }

// room is the GPU capacity of a node for one group.
type room struct {
	able int // GPUs with enough free capacity
	// slots is how many times the amount that a pod requests of one GPU fits into all GPUs. For
	// pods that request parts of several GPUs, this may be too high, because two parts of one pod
	// are never on one GPU. The exact number could be found only by trying.
	slots int
	small sched.MilliGPU // free capacity of the other GPUs
}

func (g *group) room(s *stock) (r room) {
	for i := range s.lots {
		l := &s.lots[i]
		if l.free < g.milli || !l.of(g.types) {
			r.small += l.free * sched.MilliGPU(l.n)
			continue
		}
		r.able += l.n
		r.slots += int(uint32(l.free)/uint32(g.milli)) * l.n
	}
	return r
}
