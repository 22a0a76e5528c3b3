package numaplan

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
)

// Grow returns how many of k more CPUs a running container gets on each NUMA node, or false if
// there are too few. For each NUMA node, the parameter `held` has the number of CPUs that the
// container has and keeps there, and the parameter `room` has the number of CPUs that it may get
// there in addition. Grow adds one CPU after another. The policy decides on which NUMA node each
// CPU is added:
//
//	single: where the container is
//	spread: where the container has the fewest CPUs; if equal, where it can get the most
//	random: where the container can get CPUs and has the most; if equal, where it can get the most
//
// With the policy "random", Grow makes no random choice, so that the container stays near the
// memory that it uses.
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

// growOrder returns a negative number if the next CPU for a container should be on the first of two
// NUMA nodes. The parameters `held` and `room` are the numbers of CPUs that the container has, and
// can still get, on the first NUMA node. The parameters `heldThere` and `roomThere` are the same
// numbers for the second NUMA node.
func growOrder(policy podspec.Policy, held, heldThere, room, roomThere int) int {
	switch policy {
	case podspec.Single:
		return cmp.Compare(heldThere, held)
	case podspec.Spread:
		return cmp.Or(cmp.Compare(held, heldThere), cmp.Compare(roomThere, room))
	}
	return cmp.Or(cmp.Compare(min(roomThere, 1), min(room, 1)), cmp.Compare(heldThere, held), cmp.Compare(roomThere, room))
}

// ShrinkSpread returns how many CPUs a container with the policy "spread" keeps on each NUMA node
// when it shrinks to n CPUs. The numbers are as even as possible. If n is larger than the number of
// held CPUs, the container keeps all.
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
