package pool

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// merit rates a choice of CPUs on one NUMA node by the preferences that domain.take has to
// follow. The test computes it from the machine's topology, without the code that it tests.
// Merits are compared field by field, in this order, and smaller is better.
type merit struct{ packages, broken, caches, split int }

func (a merit) compare(b merit) int {
	return cmp.Or(cmp.Compare(a.packages, b.packages), cmp.Compare(a.broken, b.broken),
		cmp.Compare(a.caches, b.caches), cmp.Compare(a.split, b.split))
}

// judge returns the merit of a choice of CPUs. The fields `packages` and `caches` of the merit are
// the numbers of packages and last-level caches with chosen CPUs. The field `broken` counts CPUs:
// the chosen ones in cores that are not chosen as a whole. The field `split` counts cores: those
// that were entirely free and of which only a part is chosen.
func judge(m *topology.Machine, free, cpus cpuset.Set) merit {
	packages, caches, cores := map[int]bool{}, map[cpuset.CPU]bool{}, map[cpuset.CPU]cpuset.Set{}
	for _, c := range m.CPUs {
		if !c.Online {
			continue
		}
		cores[c.Core] = cores[c.Core].Union(cpuset.Of(c.ID))
		if cpus.Has(c.ID) {
			packages[c.Package], caches[c.LLC] = true, true
		}
	}
	j := merit{packages: len(packages), caches: len(caches)}
	for _, core := range cores {
		mine := core.Intersect(cpus).Len()
		if mine < core.Len() {
			j.broken += mine
			if mine > 0 && core.SubsetOf(free) {
				j.split++
			}
		}
	}
	return j
}

// TestNoSubsetIsBetter compares the CPUs that Pick chooses with every other choice of the same
// number of free CPUs, on small machines. It checks that no other choice has a better merit.
func TestNoSubsetIsBetter(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for name, m := range map[string]*topology.Machine{
		"one cache":     machinetest.Machine(1, 6).SMT(2).Build(),
		"three caches":  machinetest.Machine(1, 6).SMT(2).CachesPerNode(3).Build(),
		"four threads":  machinetest.Machine(1, 3).SMT(4).Adjacent().Build(),
		"two packages":  machinetest.Machine(2, 3).SMT(2).NodesPerPackage(0).Build(),
		"three threads": machinetest.Machine(1, 4).SMT(4).Adjacent().Offline("1,6,10,15").Build(),
	} {
		t.Run(name, func(t *testing.T) {
			for range 150 {
				used := some(m, func(topology.CPU) bool { return r.IntN(3) == 0 })
				free := m.Online().Minus(used).Minus(cpuset.Of(0))
				if free.Empty() {
					continue
				}
				k := 1 + r.IntN(free.Len())
				got, err := Pick(m, PickOptions{Policy: podspec.Single, CPUs: k, Used: used, Reserved: cpuset.Of(0)})
				if err != nil {
					t.Fatalf("%d of %s: %v", k, free, err)
				}
				checkBest(t, m, free, got)
			}
		})
	}
}

func checkBest(t *testing.T, m *topology.Machine, free, got cpuset.Set) {
	t.Helper()
	ids, mine := free.Slice(), judge(m, free, got)
	for mask := range uint32(1) << len(ids) {
		if bits.OnesCount32(mask) != got.Len() {
			continue
		}
		other := pickMask(ids, mask)
		if theirs := judge(m, free, other); theirs.compare(mine) < 0 {
			t.Fatalf("of %s, %s %+v is better than %s %+v", free, other, theirs, got, mine)
		}
	}
}

func pickMask(ids []cpuset.CPU, mask uint32) cpuset.Set {
	var in []cpuset.CPU
	for i, id := range ids {
		if mask>>i&1 == 1 {
			in = append(in, id)
		}
	}
	return cpuset.Of(in...)
}
