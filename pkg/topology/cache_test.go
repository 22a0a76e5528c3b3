package topology_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// TestCaches checks on random machines that CPUsOf gets the package, NUMA node, cache and core of
// each online CPU from the result of Caches.
func TestCaches(t *testing.T) {
	for seed := range uint64(500) {
		m, want := randomMachine(rand.New(rand.NewPCG(seed, 0)))
		if diff := cmp.Diff(want, topology.CPUsOf(m.Caches())); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// randomMachine returns a random machine, and the CPUs that CPUsOf(machine.Caches()) must return.
// Cores have up to three threads, some of which are offline.
func randomMachine(r *rand.Rand) (machine *topology.Machine, online []topology.CPU) {
	machine = &topology.Machine{}
	cores := 1 + r.IntN(8)
	type place struct {
		pkg, numa int
		llc       cpuset.CPU
	}
	places := make([]place, cores)
	for i := range places {
		places[i] = place{r.IntN(3) - 1, r.IntN(3) - 1, cpuset.CPU(r.IntN(3) - 1)}
	}
	first := map[int]cpuset.CPU{} // the smallest online CPU of a core
	for id := range cores * (1 + r.IntN(3)) {
		core := id % cores
		cpu := topology.CPU{ID: cpuset.CPU(id), Online: r.IntN(5) > 0, Isolated: r.IntN(5) == 0, Die: r.IntN(2)}
		cpu.Package, cpu.NUMA, cpu.LLC = places[core].pkg, topology.NodeID(places[core].numa), places[core].llc
		if _, seen := first[core]; !seen && cpu.Online {
			first[core] = cpu.ID
		}
		cpu.Core = first[core]
		machine.CPUs = append(machine.CPUs, cpu)
		if cpu.Online {
			cpu.Isolated, cpu.Die = false, 0
			online = append(online, cpu)
		}
	}
	return machine, online
}
