package filter

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

var agreeCases = flag.Int("cases", 20000, "how many random pods TestLedgerAgrees places")

// TestLedgerAgrees checks that the scheduler and the node agent agree on which pods fit a node. The
// scheduler uses Place, and the agent uses a ledger (package pool) to assign CPUs. The test places
// random pods on random, partly used machines. If Place finds a placement, the ledger must accept
// the pod, both with the CPUs of this placement and without a placement. If Place refuses a pod,
// the ledger must refuse it, too. To try a million cases:
//
//	go test ./pkg/sched/filter -run TestLedgerAgrees -cases=1000000
func TestLedgerAgrees(t *testing.T) {
	placed := 0
	for i := range *agreeCases {
		r := rand.New(rand.NewPCG(uint64(i), 18))
		ledger, node := usedMachine(t, r)
		pod := crowd(r, node)
		at, reason := Place(pod, node)
		_, alone := ledger.Reserve(poolPod(pod))
		ledger.Release(pod.UID)
		if reason.Refuses() != (alone != nil) {
			t.Fatalf("case %d: Place says %q, the ledger alone %v\npod %+v\nnode %+v", i, reason, alone, pod, node.NUMA)
		}
		if got := Check(pod, node); got != reason {
			t.Fatalf("case %d: Check says %q, Place %q", i, got, reason)
		}
		if reason.Refuses() {
			continue
		}
		placed++
		if _, err := ledger.Reserve(order(pod, at)); err != nil {
			t.Fatalf("case %d: the ledger refuses %+v: %v\npod %+v\nnode %+v", i, at, err, pod, node.NUMA)
		}
	}
	if placed < *agreeCases/5 || placed > *agreeCases*4/5 {
		t.Errorf("%d of %d pods were placed: they prove little", placed, *agreeCases)
	}
}

// usedMachine returns the ledger (the agent's accounts of free CPUs) of a random machine with
// random CPUs in use, and the node record of this machine.
func usedMachine(t *testing.T, r *rand.Rand) (*pool.Ledger, *sched.Node) {
	t.Helper()
	smt := 1 + r.IntN(2)
	machine := machinetest.Machine(1+r.IntN(2), 4+r.IntN(3)*2).SMT(smt).NodesPerPackage(1 + r.IntN(2)).Memory(uint64(r.IntN(40))).Build()
	if r.IntN(4) == 0 {
		machine = machinetest.Machine(1+r.IntN(3), 3+r.IntN(6)).SMT(smt).Memory(uint64(r.IntN(40))).Efficiency("1-2").Build()
	}
	o := pool.Options{FullCores: r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		o.Reserved = cpuset.Of(0)
	}
	ledger := newLedger(t, machine, o)
	use(t, r, ledger, machine)
	return ledger, recordOf(machine, ledger, o, smt)
}

// The function `use` makes the ledger assign the free CPUs of random cores to an additional pod, so
// that the machine is partly used. Sometimes it assigns no CPUs. It never assigns CPUs of the first
// core.
func use(t *testing.T, r *rand.Rand, ledger *pool.Ledger, machine *topology.Machine) {
	t.Helper()
	full, used := map[cpuset.CPU]bool{}, []cpuset.CPU{}
	share := r.Float64()
	for _, c := range machine.CPUs[1:] {
		if _, known := full[c.Core]; !known {
			full[c.Core] = r.Float64() < share && c.Core != machine.CPUs[0].Core
		}
		if full[c.Core] && ledger.Free().Has(c.ID) {
			used = append(used, c.ID)
		}
	}
	g := pool.Grant{UID: "others", Claims: []pool.Claim{{Container: "others", CPUs: cpuset.Of(used...)}}}
	if len(used) == 0 || r.IntN(4) == 0 {
		return
	}
	if err := ledger.Restore(g); err != nil {
		t.Fatal(err)
	}
}

// crowd returns a random pod of up to six containers. It chooses the numbers of CPUs so that many
// of these pods fit the node, and many do not.
func crowd(r *rand.Rand, node *sched.Node) *sched.Pod {
	pod := &sched.Pod{UID: "pod", Seed: r.Uint64(), CPUPolicy: podspec.Policy(r.IntN(3))}
	free := 0
	for _, on := range node.NUMA {
		free += on.FreeCPUs
	}
	containers := 1 + r.IntN(6)
	explicit := r.IntN(6) == 0
	if explicit {
		pod.CPUPolicy = podspec.Random
	}
	for i := range containers {
		container := podspec.Container{Name: fmt.Sprint("c", i), CPUs: 1 + r.IntN(2+3*free/(2*containers))}
		if r.IntN(2) == 0 {
			container.Kind = podspec.Kind(r.IntN(3))
		}
		if r.IntN(3) == 0 {
			container.MemoryBytes = uint64(1 + r.IntN(12))
		}
		if explicit && r.IntN(4) > 0 {
			container.PerNode = map[topology.NodeID]int{}
			for range container.CPUs {
				container.PerNode[node.NUMA[r.IntN(len(node.NUMA))].ID]++
			}
		}
		pod.Exclusive = append(pod.Exclusive, container)
	}
	return pod
}
