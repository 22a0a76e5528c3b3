package numaplan

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
)

// Grow returns how many of k more CPUs a running container gets on each NUMA node, or false
// if there are too few. It keeps the held CPUs; room is how many more it may have on each NUMA
// node. The policy holds for the result:
//
//	single: all on the NUMA node that it is on
//	spread: one after another where it holds the fewest, and of these where most are free
//	random: where it is, most first, and then where most are free
//
// Random does not draw here: a container that grows stays near the memory that it uses.
// O(k · NUMA nodes).
func Grow(policy podspec.Policy, held, room Counts, k int) (Counts, bool) {
	more := make(Counts, len(held))
	for range k {
		best := -1
		for i := range held {
			if best < 0 || growOrder(policy, held[i]+more[i], held[best]+more[best], room[i]-more[i], room[best]-more[best]) < 0 {
				best = i
			}
		}
		if best < 0 || room[best] == more[best] {
			return nil, false
		}
		more[best]++
	}
	return more, true
}

// growOrder compares two NUMA nodes by how many CPUs the container has there and how many
// it may have in addition.
func growOrder(policy podspec.Policy, held, heldThere, room, roomThere int) int {
	switch policy {
	case podspec.Single:
		return cmp.Compare(heldThere, held)
	case podspec.Spread:
		return cmp.Or(cmp.Compare(held, heldThere), cmp.Compare(roomThere, room))
	}
	return cmp.Or(cmp.Compare(min(roomThere, 1), min(room, 1)), cmp.Compare(heldThere, held), cmp.Compare(roomThere, room))
}

// ShrinkSpread returns how many of the held CPUs on each NUMA node a container with the policy
// spread keeps if it keeps n in all: as even as possible. It keeps all if n is larger.
// O(CPUs given back · NUMA nodes).
func ShrinkSpread(held Counts, n int) Counts {
	kept := slices.Clone(held)
	for range kept.total() - n {
		most := 0
		for i := range kept {
			if kept[i] >= kept[most] {
				most = i
			}
		}
		kept[most]--
	}
	return kept
}

// total returns the number of CPUs on all NUMA nodes.
func (c Counts) total() (cpus int) {
	for _, k := range c {
		cpus += k
	}
	return cpus
}
