package oracle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// scene is one random case: a machine, the CPUs in use on it, and the number of CPUs to choose.
type scene struct {
	machine        *topology.Machine
	reserved, used cpuset.Set
	cpus           int
}

func newScene(r *rand.Rand, machine *topology.Machine) scene {
	s := scene{machine: machine, reserved: cpuset.Of(0)}
	fill := r.Float64()
	for c := range machine.Online().All() {
		if c != 0 && r.Float64() < fill {
			s.used = s.used.Union(cpuset.Of(c))
		}
	}
	s.cpus = 1 + r.IntN(max(1, len(machine.CPUs)-s.used.Len()))
	return s
}

func (s scene) String() string {
	return fmt.Sprintf("%d CPUs on %d (%d NUMA nodes), used %s", s.cpus, len(s.machine.CPUs), len(s.machine.Nodes), s.used)
}

// compare fails the test if the pool's choice (`ours`) is worse than the kubelet's (`theirs`).
func (s scene) compare(t *testing.T, ours, theirs cpuset.Set) {
	t.Helper()
	if ours.Len() != s.cpus || ours.Overlaps(s.used.Union(s.reserved)) {
		t.Fatalf("%v: picked %s", s, ours)
	}
	a, b := s.measure(ours), s.measure(theirs)
	if a.whole < b.whole {
		t.Fatalf("%v: %s has %d whole cores, the kubelet's %s has %d", s, ours, a.whole, theirs, b.whole)
	}
	if a.whole == b.whole && a.split > b.split {
		t.Fatalf("%v: %s splits %d cores, the kubelet's %s splits %d", s, ours, a.split, theirs, b.split)
	}
	if a.whole == b.whole && a.caches > b.caches {
		t.Fatalf("%v: %s touches %d caches, the kubelet's %s touches %d", s, ours, a.caches, theirs, b.caches)
	}
}

// merits are the properties of a choice of CPUs that the tests compare.
type merits struct {
	whole  int // cores of which all threads are in the choice
	split  int // cores that were entirely free, and of which the choice has only some threads
	caches int // last-level caches of the chosen CPUs
}

func (s scene) measure(cpus cpuset.Set) (m merits) {
	free := s.machine.Online().Minus(s.used).Minus(s.reserved)
	cores, caches := map[cpuset.CPU]cpuset.Set{}, map[cpuset.CPU]bool{}
	for _, cpu := range s.machine.CPUs {
		cores[cpu.Core] = cores[cpu.Core].Union(cpuset.Of(cpu.ID))
		if cpus.Has(cpu.ID) {
			caches[cpu.LLC] = true
		}
	}
	for _, core := range cores {
		switch {
		case core.SubsetOf(cpus):
			m.whole++
		case core.SubsetOf(free) && core.Overlaps(cpus):
			m.split++
		}
	}
	m.caches = len(caches)
	return m
}

// even reports whether the CPUs are spread evenly: the counts of CPUs on any two NUMA nodes differ
// by at most one.
func even(machine *topology.Machine, cpus cpuset.Set) bool {
	low, high := cpus.Len(), 0
	for _, numaNode := range machine.Nodes {
		k := numaNode.CPUs.Intersect(cpus).Len()
		low, high = min(low, k), max(high, k)
	}
	return cpus.Len() > 0 && high-low <= 1
}
