package filter

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/internal/testutil/schedtest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// TestLedgerHonours checks that the ledger (package pool), with which the agent of a node
// assigns CPUs, can carry out the placements of Place. It places random pods on random
// machines, one after another. The ledger must find the CPUs of each placement. After each
// pod, the ledger must have as many free CPUs on each NUMA node as the node's record. If
// Place finds no placement for a pod, the ledger must find no CPUs for the pod, either.
func TestLedgerHonours(t *testing.T) {
	placed := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		ledger, node := randomMachine(t, r)
		for i := range 12 {
			pod := schedtest.Pod(r, fmt.Sprint("pod-", i))
			pod.UID, pod.Requests, pod.GPUs = pod.Name, sched.Amounts{}, sched.GPURequest{}
			if len(pod.Exclusive) == 0 {
				continue
			}
			at, reason := Place(pod, node)
			if reason.Refuses() {
				if _, err := ledger.Reserve(poolPod(pod)); err == nil {
					t.Fatalf("seed %d: refused (%s), but the ledger has a place\npod %+v\nnode %+v", seed, reason, pod, node)
				}
				continue
			}
			placed++
			if _, err := ledger.Reserve(order(pod, at)); err != nil {
				t.Fatalf("seed %d: the ledger refuses %+v: %v\nnode %+v", seed, at, err, node)
			}
			node = node.Take(sched.Hold(pod, at))
			if diff := cmp.Diff(available(ledger), free(node)); diff != "" {
				t.Fatalf("seed %d: free CPUs (-ledger +record):\n%s", seed, diff)
			}
		}
	}
	if placed < 500 {
		t.Errorf("only %d pods were placed: they prove little", placed)
	}
}

// randomMachine returns the ledger (the agent's accounts of free CPUs) and the node record
// of a random machine without pods.
func randomMachine(t *testing.T, r *rand.Rand) (*pool.Ledger, *sched.Node) {
	t.Helper()
	smt := 1 + r.IntN(2)
	machine := machinetest.Machine(1+r.IntN(3), 2+r.IntN(4)).SMT(smt).Build()
	o := pool.Options{FullCores: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		o.Reserved = cpuset.Of(0)
	}
	ledger := newLedger(t, machine, o)
	return ledger, recordOf(machine, ledger, o, smt)
}

// newLedger returns the ledger of a machine without pods.
func newLedger(t *testing.T, machine *topology.Machine, o pool.Options) *pool.Ledger {
	t.Helper()
	ledger, err := pool.New(machine, o)
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

// recordOf returns the node record of a machine with smt threads on each core. The record
// has the same free resources as the given ledger.
func recordOf(machine *topology.Machine, ledger *pool.Ledger, o pool.Options, smt int) *sched.Node {
	node := &sched.Node{Name: "n", Version: 1, CoreWidth: 1, Spare: 1}
	if o.FullCores {
		node.CoreWidth, node.Spare = smt, smt
	}
	if !o.Reserved.Empty() {
		node.Spare = 0
	}
	for _, on := range machine.Nodes {
		node.NUMA = append(node.NUMA, sched.NUMANode{
			ID: on.ID, FreeCPUs: ledger.Available()[on.ID], FreeMemory: sched.Bytes(ledger.AvailableMemory()[on.ID]),
		})
	}
	return node
}

// poolPod returns a pod in the format of the ledger, without a placement. The ledger gets
// a pod without a placement if the pod was not placed by Numalet's controller.
func poolPod(pod *sched.Pod) pool.Pod {
	return pool.Pod{UID: pod.UID, Policy: pod.CPUPolicy, Seed: pod.Seed, Containers: pod.Exclusive}
}

// order returns a pod in the format of the ledger, with the given placement.
func order(pod *sched.Pod, at sched.Placement) pool.Pod {
	p := poolPod(pod)
	p.Containers = make([]podspec.Container, len(pod.Exclusive))
	for c, want := range pod.Exclusive {
		want.PerNode = at.Containers[c].PerNode
		p.Containers[c] = want
	}
	return p
}

func available(l *pool.Ledger) map[topology.NodeID]int { return l.Available() }

func free(node *sched.Node) map[topology.NodeID]int {
	counts := map[topology.NodeID]int{}
	for _, on := range node.NUMA {
		counts[on.ID] = on.FreeCPUs
	}
	return counts
}
