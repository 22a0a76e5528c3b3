package oracle

import (
	"math/rand/v2"
	"testing"

	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
)

// rounds is how many random cases each test tries. The random numbers have a fixed seed.
const rounds = 3000

// Options of the kubelet's static policy. kubeletPick takes one of them. A test that needs no
// option passes `packed` (the option strict-cpu-reservation), which has no effect in these tests.
const (
	packed      = cpumanager.StrictCPUReservationOption
	byCache     = cpumanager.PreferAlignByUnCoreCacheOption
	distributed = cpumanager.DistributeCPUsAcrossNUMAOption
)

// TestSingle compares the choices of the pool and of the kubelet on a machine with one NUMA node.
// There, the kubelet's static policy packs the CPUs into as few cores as possible.
func TestSingle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range rounds {
		machine := machinetest.Machine(1, 2*(1+r.IntN(12))).SMT(1 << r.IntN(3)).Build()
		s := newScene(r, machine)
		theirs, ok := kubeletPick(t, machine, s.reserved, s.used, s.cpus, packed)
		ours, err := pool.Pick(machine, pool.PickOptions{Policy: podspec.Single, CPUs: s.cpus, Used: s.used, Reserved: s.reserved})
		if (err == nil) != ok {
			t.Fatalf("%v: pool says %v, the kubelet picks %t", s, err, ok)
		}
		if ok {
			s.compare(t, ours, theirs)
		}
	}
}

// TestCaches compares the choices of the pool and of the kubelet on a NUMA node with several
// last-level caches. The kubelet's static policy has the option prefer-align-cpus-by-uncorecache.
func TestCaches(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range rounds {
		caches := 1 + r.IntN(4)
		machine := machinetest.Machine(1, caches*(1+r.IntN(6))).SMT(1 << r.IntN(2)).CachesPerNode(caches).Build()
		s := newScene(r, machine)
		theirs, ok := kubeletPick(t, machine, s.reserved, s.used, s.cpus, byCache)
		ours, err := pool.Pick(machine, pool.PickOptions{Policy: podspec.Single, CPUs: s.cpus, Used: s.used, Reserved: s.reserved})
		if (err == nil) != ok {
			t.Fatalf("%v: pool says %v, the kubelet picks %t", s, err, ok)
		}
		if ok {
			s.compare(t, ours, theirs)
		}
	}
}

// TestSpread compares the pool's policy "spread" with the kubelet's option
// distribute-cpus-across-numa. If the kubelet spreads the CPUs evenly over the NUMA nodes, the pool
// must do so, too. Each choice of the pool must be even: the numbers of CPUs on any two NUMA nodes
// differ by at most one.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range rounds {
		machine := machinetest.Machine(1+r.IntN(2), 2*(1+r.IntN(6))).SMT(1 << r.IntN(2)).NodesPerPackage(1 + r.IntN(2)).Build()
		s := newScene(r, machine)
		theirs, _ := kubeletPick(t, machine, s.reserved, s.used, s.cpus, distributed)
		ours, err := pool.Pick(machine, pool.PickOptions{Policy: podspec.Spread, CPUs: s.cpus, Used: s.used, Reserved: s.reserved})
		if even(machine, theirs) && err != nil {
			t.Fatalf("%v: the kubelet spreads evenly on %s, but: %v", s, theirs, err)
		}
		if err != nil {
			continue
		}
		if ours.Len() != s.cpus || !even(machine, ours) {
			t.Fatalf("%v: %s is not an even spread", s, ours)
		}
		if s.cpus%len(machine.Nodes) == 0 && even(machine, theirs) {
			s.compare(t, ours, theirs)
		}
	}
}
