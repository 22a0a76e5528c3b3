package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// machines are the machines on which the random tests run.
var machines = map[string]*topology.Machine{
	"two CPUs":      machinetest.Machine(1, 2).Build(),
	"laptop":        machinetest.Machine(1, 8).SMT(2).Efficiency("4-7,12-15").Build(),
	"two sockets":   machinetest.Machine(2, 8).SMT(2).Build(),
	"chiplets":      machinetest.Machine(2, 16).SMT(2).NodesPerPackage(2).CachesPerNode(4).Build(),
	"POWER":         machinetest.Machine(2, 6).SMT(8).Adjacent().NodeIDs(0, 8).MemoryNode(252, 1<<30).Build(),
	"NUMA off":      machinetest.Machine(2, 8).SMT(2).NodesPerPackage(0).Build(),
	"holes":         machinetest.Machine(2, 8).SMT(2).NodesPerPackage(2).Offline("1,5,20-22").Isolated("8-11,24-27").Build(),
	"no node":       machinetest.Machine(2, 4).SMT(2).OutsideNUMA("0-3,12").Build(),
	"private cache": machinetest.Machine(1, 16).CachesPerNode(16).Build(),
}

// TestRandomOperations reserves, resizes, releases and restores pods at random. After each
// operation it checks that the ledger agrees with its twin (a simple implementation), that the
// shared set is not empty, and that each grant satisfies the pod's request.
func TestRandomOperations(t *testing.T) {
	for name, m := range machines {
		for _, o := range []Options{{}, {Reserved: cpuset.Of(0)}, {FullCores: true}, {Reserved: cpuset.Of(0), FullCores: true}} {
			t.Run(fmt.Sprintf("%s/reserved=%s/full=%t", name, o.Reserved, o.FullCores), func(t *testing.T) {
				operate(t, m, o, 200)
			})
		}
	}
}

func operate(t *testing.T, m *topology.Machine, o Options, rounds int) {
	r := rand.New(rand.NewPCG(7, uint64(len(m.CPUs))))
	l := mustNew(t, m, o)
	tw := newTwin(m, o)
	resizes := resizer{Rand: r, since: map[string]map[cpuset.CPU]int{}}
	for range rounds {
		uid := fmt.Sprintf("pod%d", r.IntN(8))
		switch r.IntN(12) {
		case 0, 1, 2:
			resizes.forget(uid)
			if got, want := l.Release(uid), tw.release(uid); !got.Equal(want) {
				t.Fatalf("release %s: got %s, want %s", uid, got, want)
			}
		case 3:
			l = restarted(t, l, m, o)
		case 4, 5, 6:
			resizes.resize(t, l, tw, uid)
		case 7:
			before, _ := l.Grant(uid)
			back := before.CPUs().Minus(l.Return(uid).CPUs())
			if l.Exclusive().Overlaps(back) {
				t.Fatalf("return %s: %s are free and held", uid, back)
			}
			if g, ok := l.Grant(uid); ok {
				tw.set(g)
			}
		default:
			pod := randomPod(r, uid, len(m.CPUs), len(l.layout.nodes))
			before := l.Free()
			_, known := l.Grant(uid)
			if g, err := l.Reserve(pod); err == nil && !known {
				tw.reserve(g)
				checkGrant(t, l, pod, g, before)
			}
		}
		checkLedger(t, l, tw)
	}
}

func mustNew(t *testing.T, m *topology.Machine, o Options) *Ledger {
	t.Helper()
	l, err := New(m, o)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return l
}

func restarted(t *testing.T, l *Ledger, m *topology.Machine, o Options) *Ledger {
	t.Helper()
	next := mustNew(t, m, o)
	for _, g := range l.Grants() {
		if err := next.Restore(g); err != nil {
			t.Fatalf("restart: %v", err)
		}
	}
	return next
}

func randomPod(r *rand.Rand, uid string, cpus, nodes int) Pod {
	p := Pod{UID: uid, Policy: podspec.Policy(r.IntN(3)), Seed: r.Uint64()}
	for i := range 1 + r.IntN(4) {
		k := 1 + r.IntN(max(1, cpus/(2*nodes)))
		p.Containers = append(p.Containers, podspec.Container{Name: fmt.Sprintf("c%d", i), Kind: podspec.Init + podspec.Kind(r.IntN(2)), CPUs: k})
	}
	for i := range r.IntN(3) {
		p.Containers = append(p.Containers, podspec.Container{Name: fmt.Sprintf("app%d", i), CPUs: 1 + r.IntN(max(1, cpus/4))})
	}
	return p
}

// checkLedger checks what must always be true of a ledger. For example, it agrees with its twin, at
// least one shared CPU is not isolated, and no CPU is both shared and exclusive.
func checkLedger(t *testing.T, l *Ledger, tw *twin) {
	t.Helper()
	if diff := cmp.Diff(tw.state(), stateOf(l)); diff != "" {
		t.Fatalf("ledger (-twin +ledger):\n%s", diff)
	}
	shared := l.Shared()
	switch {
	case shared.Empty():
		t.Fatal("the shared set is empty")
	case shared.Minus(l.layout.isolated).Empty():
		t.Fatalf("all shared CPUs %s are isolated", shared)
	case shared.Overlaps(l.Exclusive()):
		t.Fatalf("CPUs %s are shared and exclusive", shared.Intersect(l.Exclusive()))
	case l.Free().Overlaps(l.Exclusive().Union(l.options.Reserved)):
		t.Fatalf("free %s, exclusive %s, reserved %s", l.Free(), l.Exclusive(), l.options.Reserved)
	}
	if l.options.FullCores {
		checkCores(t, l)
	}
}

// checkCores checks that no core is used by two pods, or by a pod and the shared set.
func checkCores(t *testing.T, l *Ledger) {
	t.Helper()
	for _, c := range l.layout.threads {
		users := 0
		for _, g := range l.Grants() {
			users += min(1, c.count(g.CPUs()))
		}
		if users += min(1, c.count(l.Shared())); users > 1 {
			t.Fatalf("core %v has %d users", c, users)
		}
	}
}

// checkGrant checks that a new grant has only CPUs that were free before, and that it satisfies the
// pod's request and policy.
func checkGrant(t *testing.T, l *Ledger, p Pod, g Grant, before cpuset.Set) {
	t.Helper()
	if !g.CPUs().SubsetOf(before) {
		t.Fatalf("%v holds %s, free were %s", p, g.CPUs(), before)
	}
	for i, c := range g.Claims {
		if c.CPUs.Len() != p.Containers[i].CPUs {
			t.Fatalf("%v: container %s has CPUs %s", p, c.Container, c.CPUs)
		}
		checkPolicy(t, l, p.Policy, c)
		for j := range i {
			if beside(g.Claims, i, j) && c.CPUs.Overlaps(g.Claims[j].CPUs) {
				t.Fatalf("%v: %v and %v run together and overlap", p, c, g.Claims[j])
			}
		}
	}
	checkPeak(t, l, p, g)
}

func checkPolicy(t *testing.T, l *Ledger, policy podspec.Policy, c Claim) {
	t.Helper()
	low, high, used := c.CPUs.Len(), 0, 0
	for _, n := range l.layout.perNode(c.CPUs) {
		low, high, used = min(low, n), max(high, n), used+min(1, n)
	}
	if policy == podspec.Spread && high-low > 1 || policy == podspec.Single && used != 1 {
		t.Fatalf("%s: %v", policy, c)
	}
}

// checkPeak checks that the pod holds no more CPUs on any NUMA node than its containers use there
// at one time. Pods with the policy "single" and machines with several classes of CPUs are
// excepted.
func checkPeak(t *testing.T, l *Ledger, p Pod, g Grant) {
	t.Helper()
	held := l.layout.perNode(g.CPUs())
	for _, n := range l.layout.nodes {
		most := int(peak(g.Claims, func(c Claim) uint64 { return uint64(c.CPUs.Intersect(n.cpus).Len()) }))
		if held[n.id] < most || p.Policy != podspec.Single && len(l.layout.classes) == 1 && held[n.id] > most {
			t.Fatalf("%+v holds %d CPUs on NUMA node %d, its peak is %d: %+v", p, held[n.id], n.id, most, g)
		}
	}
}
