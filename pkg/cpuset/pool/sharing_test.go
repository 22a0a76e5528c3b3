package pool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/numaplan"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// TestRefusedOnlyWhenNoSubsetWorks checks that Reserve refuses a container only if there are no
// suitable CPUs. It tries every subset of the free CPUs of small machines without reserved CPUs. A
// subset is suitable if it satisfies the policy, and if a CPU that is not isolated stays shared.
func TestRefusedOnlyWhenNoSubsetWorks(t *testing.T) {
	for name, m := range map[string]*topology.Machine{
		"plain":           machinetest.Machine(1, 4).Build(),
		"two nodes":       machinetest.Machine(2, 3).Build(),
		"isolated":        machinetest.Machine(2, 4).Isolated("2-3,6").Build(),
		"one isolated":    machinetest.Machine(2, 2).Isolated("0-2").Build(),
		"threads":         machinetest.Machine(2, 2).SMT(2).Build(),
		"isolated core":   machinetest.Machine(2, 2).SMT(2).Isolated("0,4").Build(),
		"isolated thread": machinetest.Machine(2, 2).SMT(2).Isolated("4,7").Build(),
		"no node":         machinetest.Machine(2, 3).OutsideNUMA("1").Build(),
	} {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/full=%t", name, full), func(t *testing.T) { checkRefusals(t, m, full) })
		}
	}
}

func checkRefusals(t *testing.T, m *topology.Machine, full bool) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 150 {
		l := mustNew(t, m, Options{FullCores: full})
		others := randomPod(r, "others", len(m.CPUs), len(l.layout.nodes))
		if _, err := l.Reserve(others); err != nil && r.IntN(4) > 0 {
			continue
		}
		free := l.Free()
		pod := Pod{UID: "u", Policy: podspec.Policy(r.IntN(3)), Containers: []podspec.Container{{Name: "app", CPUs: 1 + r.IntN(len(m.CPUs))}}}
		possible := possible(l, free, pod)
		_, err := l.Reserve(pod)
		if (err == nil) != (len(possible) > 0) {
			t.Fatalf("%+v beside %s: %v, possible %v", pod, l.Exclusive(), err, possible)
		}
		if refusal := (*numaplan.Refusal)(nil); errors.As(err, &refusal) && refusal.Reason == numaplan.Invalid {
			t.Fatal(err)
		}
	}
}

// possible returns every set of free CPUs that a pod of one container can get. The set must satisfy
// the pod's policy, and a CPU that is not isolated must stay shared.
func possible(l *Ledger, free cpuset.Set, pod Pod) []cpuset.Set {
	var all []cpuset.Set
	ids := free.Slice()
	for mask := range uint32(1) << len(ids) {
		cpus := pickMask(ids, mask)
		if cpus.Len() == pod.Containers[0].CPUs && meets(l, pod.Policy, cpus) && leaves(l, cpus) {
			all = append(all, cpus)
		}
	}
	return all
}

func meets(l *Ledger, policy podspec.Policy, cpus cpuset.Set) bool {
	low, high, used := cpus.Len(), 0, 0
	for _, n := range l.layout.perNode(cpus) {
		low, high, used = min(low, n), max(high, n), used+min(1, n)
	}
	return policy == podspec.Random || policy == podspec.Spread && high-low <= 1 || policy == podspec.Single && used == 1
}

// leaves reports whether at least one CPU that is not isolated stays shared if the given CPUs
// become exclusive. Unlike Ledger.starves, it checks one CPU after another.
func leaves(l *Ledger, cpus cpuset.Set) bool {
	held := l.exclusive.Union(cpus)
	for c := range l.layout.online.Minus(held).Minus(l.layout.isolated).All() {
		if !l.options.FullCores || !l.layout.siblings(cpuset.Of(c)).Overlaps(held) {
			return true
		}
	}
	return false
}
