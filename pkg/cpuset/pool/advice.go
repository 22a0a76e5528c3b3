package pool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// refuse explains an offer from which nothing could be chosen.
func (o *offer) refuse(allocatable map[topology.NodeID]int) *Refusal {
	r := &Refusal{
		Reason: o.reason(), Container: o.want.Container, Policy: o.policy,
		CPUs: o.want.CPUs, PerNode: o.want.PerNode,
		Free: o.perNode(o.own.Union(o.free)), Allocatable: allocatable,
	}
	if r.Reason == NoMemory {
		r.MemoryBytes, r.FreeMemory = o.want.MemoryBytes, map[topology.NodeID]uint64{}
		for _, n := range o.nodes {
			r.FreeMemory[n.id] = o.room(n)
		}
	}
	return r
}

func (o *offer) reason() Reason {
	switch {
	case o.policy == Single && o.seated():
		return NoMemory
	case o.want.PerNode != nil:
		return Short
	case o.policy == Single:
		return NoNode
	case o.policy == Spread:
		return Uneven
	}
	return TooFew
}

// seated reports whether the CPUs alone would have found a place.
func (o *offer) seated() bool {
	cpusOnly := *o
	cpusOnly.want.MemoryBytes = 0
	_, ok := cpusOnly.distribute()
	return ok
}

// never reports whether even an empty machine could not do it.
func (r *Refusal) never() bool {
	most, total, able := 0, 0, 0
	share := r.CPUs / max(1, len(r.Allocatable))
	for id, n := range r.Allocatable {
		most, total = max(most, n), total+n
		if n < r.PerNode[id] || r.Reason == Uneven && n < share {
			return true
		}
		able += min(1, max(0, n-share))
	}
	switch r.Reason {
	case NoNode:
		return most < r.CPUs
	case Uneven:
		return able < r.CPUs%len(r.Allocatable)
	}
	return total < r.CPUs
}

// advice tells what the pod's author can do.
func (r *Refusal) advice() string {
	switch {
	case r.never():
		return "ask for fewer, since this node never has so many"
	case r.Reason == Uneven, r.Reason == NoNode:
		return "ask for fewer, use the policy random, or wait until other pods end"
	case r.Reason == NoMemory:
		return "ask for less memory, opt out of local memory, or wait until other pods end"
	}
	return "ask for fewer or wait until other pods end"
}

// numbers writes counts by NUMA node: "numa0 4, numa1 6".
func numbers(n map[topology.NodeID]int) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("numa%d %d", id, n[id]))
	}
	return strings.Join(parts, ", ")
}

// size writes bytes for people, rounded down to a tenth: "1.5GiB".
func size(bytes uint64) string {
	for _, unit := range []struct {
		name  string
		shift uint
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if bytes >= 1<<unit.shift {
			tenths := bytes >> unit.shift * 10
			tenths += bytes & (1<<unit.shift - 1) * 10 >> unit.shift
			return fmt.Sprintf("%d.%d%s", tenths/10, tenths%10, unit.name)
		}
	}
	return fmt.Sprintf("%dB", bytes)
}
