package gpu

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/numalet/numalet/pkg/topology"
)

// FuzzChoose checks that Choose returns the requested number of GPUs, and that each is free and
// listed once. Neither a second call nor another order of the free GPUs may change the result. For
// small inputs, the test also checks that no set is better than the result. To find out, the
// function `twin` tries all sets.
func FuzzChoose(f *testing.F) {
	for gpus := range uint8(20) {
		f.Add(uint64(gpus), gpus)
	}
	f.Fuzz(func(t *testing.T, seed uint64, gpus uint8) {
		r := rand.New(rand.NewPCG(seed, 2))
		inventory := random(r, 1+int(gpus)%20)
		free, w := question(r, len(inventory.GPUs))
		got, ok := inventory.Choose(free, w)
		if ok != (len(free) >= w.Count) {
			t.Fatalf("%d of %v: %v, %v", w.Count, free, got, ok)
		}
		if !ok {
			return
		}
		r.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
		again, _ := inventory.Choose(free, w)
		slices.Sort(free)
		if !slices.Equal(got, again) || len(got) != w.Count || len(without(free, got)) != len(free)-w.Count {
			t.Fatalf("%d of %v: %v, then %v", w.Count, free, got, again)
		}
		if best := got; len(free) <= 8 && !slices.Equal(best, twin(inventory, free, w)) {
			t.Fatalf("%d of %v: %v", w.Count, free, best)
		}
	})
}

// TestAligned checks that ChooseAligned returns as many free GPUs of one NUMA node as requested. It
// must return an error if no NUMA node has enough free GPUs. The function that the test passes as
// the parameter `fits` returns false for one NUMA node. This NUMA node counts as one without free
// GPUs.
func TestAligned(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		inventory := random(r, 1+r.IntN(8))
		free, w := question(r, len(inventory.GPUs))
		full := topology.NodeID(r.IntN(4))
		fits := func(numaNode topology.NodeID) bool { return numaNode != full }
		gpus, node, err := inventory.ChooseAligned(free, w.Count, fits)
		most := 0
		for n := range topology.NodeID(3) {
			if here := inventory.on(free, n); fits(n) {
				most = max(most, len(here))
			}
		}
		var refusal *Unaligned
		if (err == nil) != (most >= w.Count) || err != nil && !errors.As(err, &refusal) {
			t.Fatalf("%d of %v: %v with %d free on one node", w.Count, free, err, most)
		}
		if err == nil && (len(gpus) != w.Count || len(inventory.on(gpus, node)) != w.Count || len(without(free, gpus)) != len(free)-w.Count) {
			t.Fatalf("%d of %v: %v on numa%d", w.Count, free, gpus, node)
		}
	}
}

func (v *Inventory) on(gpus []int, node topology.NodeID) []int {
	return slices.DeleteFunc(slices.Clone(gpus), func(c int) bool { return v.GPUs[c].NUMA != node })
}

// TestLarge checks Choose on a machine with more than 16 GPUs, for which it does not try all sets.
// The machine has four groups of 18 GPUs that are connected by NVLinks. Choose must take sixteen
// GPUs of one group, although the indexes of a group are scattered.
func TestLarge(t *testing.T) {
	const gpus = 72
	inventory := &Inventory{Links: make(Links, gpus)}
	for i := range gpus {
		inventory.GPUs = append(inventory.GPUs, GPU{Index: i})
		inventory.Links[i] = make([]Link, gpus)
		for j := range gpus {
			inventory.Links[i][j].Level = System
			if i%4 == j%4 {
				inventory.Links[i][j].NVLinks = 18
			}
		}
	}
	all := make([]int, 0, gpus)
	for i := range gpus {
		all = append(all, i)
	}
	got, ok := inventory.Choose(all, Wish{Count: 16})
	for _, c := range got {
		ok = ok && c%4 == got[0]%4
	}
	if !ok || len(got) != 16 {
		t.Errorf("GPUs %v, want 16 of one switch", got)
	}
}
