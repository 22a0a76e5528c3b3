package gpu

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/numalet/numalet/pkg/topology"
)

// twin is a simple and slow version of Choose, for comparison. It builds all sets, and
// compares the sorted links of two sets at a time.
func twin(inventory *Inventory, free []int, w Wish) []int {
	var best []int
	for mask := range 1 << len(free) {
		var set, left []int
		for i, gpu := range free {
			if mask>>i&1 == 1 {
				set = append(set, gpu)
			} else {
				left = append(left, gpu)
			}
		}
		if len(set) == w.Count && (best == nil || inventory.better(set, left, best, without(free, best), w.Near)) {
			best = set
		}
	}
	return best
}

// better reports whether the GPUs given as `set` are a better choice than those given as `other`.
// The free GPUs that are not in `set` are given as `left`, and those that are not in `other` are
// given as `otherLeft`.
func (v *Inventory) better(set, left, other, otherLeft []int, near func(int) int) bool {
	weakest, strongest := Link.Compare, func(a, b Link) int { return b.Compare(a) }
	return cmp.Or(
		// The links of each set are sorted, the weakest first. At the first place where the two
		// lists differ, the set with the weaker link is worse.
		-slices.CompareFunc(v.sorted(set, set, weakest), v.sorted(other, other, weakest), Link.Compare),
		cmp.Compare(v.nodes(set), v.nodes(other)),
		cmp.Compare(total(set, near), total(other, near)),
		slices.CompareFunc(v.sorted(set, left, strongest), v.sorted(other, otherLeft, strongest), Link.Compare),
		slices.Compare(set, other),
	) < 0
}

// sorted returns the links between two sets of GPUs, sorted by the comparison function given as
// `order`.
func (v *Inventory) sorted(from, to []int, order func(a, b Link) int) []Link {
	var all []Link
	for _, a := range from {
		for _, b := range to {
			if a != b {
				all = append(all, v.Links.between(a, b))
			}
		}
	}
	slices.SortFunc(all, order)
	return all
}

func (v *Inventory) nodes(set []int) int {
	known, unknown := map[topology.NodeID]bool{}, 0
	for _, c := range set {
		if v.GPUs[c].NUMA == topology.Unknown {
			unknown++
		} else {
			known[v.GPUs[c].NUMA] = true
		}
	}
	return len(known) + unknown
}

func total(set []int, near func(int) int) (sum int) {
	for _, c := range set {
		sum += near(c)
	}
	return sum
}

func without(all, set []int) []int {
	return slices.DeleteFunc(slices.Clone(all), func(c int) bool { return slices.Contains(set, c) })
}

// random returns a machine with random links between its GPUs.
func random(r *rand.Rand, gpus int) *Inventory {
	inventory := &Inventory{Links: make(Links, gpus)}
	kinds := 1 + r.IntN(5)
	for i := range gpus {
		inventory.GPUs = append(inventory.GPUs, GPU{Index: i, NUMA: topology.NodeID(r.IntN(4) - 1)})
		inventory.Links[i] = make([]Link, gpus)
		for j := range i {
			link := Link{Level: Level(r.IntN(kinds))}
			if r.IntN(3) == 0 {
				link.NVLinks = r.IntN(kinds)
			}
			inventory.Links[i][j], inventory.Links[j][i] = link, link
		}
	}
	return inventory
}

// question returns random free GPUs and a random request.
func question(r *rand.Rand, gpus int) (free []int, w Wish) {
	for c := range gpus {
		if r.IntN(4) > 0 {
			free = append(free, c)
		}
	}
	far := make([]int, gpus)
	for c := range far {
		far[c] = r.IntN(2) * r.IntN(3)
	}
	return free, Wish{Count: 1 + r.IntN(gpus), Near: func(c int) int { return far[c] }}
}

// TestTwin checks that Choose and twin choose the same GPUs, in 4,000 random cases.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 4000 {
		inventory := random(r, 1+r.IntN(8))
		free, w := question(r, len(inventory.GPUs))
		got, _ := inventory.Choose(free, w)
		if want := twin(inventory, free, w); !slices.Equal(want, got) {
			t.Fatalf("%d of %v, links %v: chose %v, want %v", w.Count, free, inventory.Links, got, want)
		}
	}
}
