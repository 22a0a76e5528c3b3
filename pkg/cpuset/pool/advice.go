package pool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// refuse explains an offer from which nothing could be chosen.
func (o *offer) refuse() *Refusal {
	r := &Refusal{
		Reason: o.reason(), Container: o.want.Name, Policy: o.policy,
		CPUs: o.want.CPUs, PerNode: o.want.PerNode,
		Free: o.perNode(o.own.Union(o.free)),
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
	case o.policy == podspec.Single && o.seated():
		return NoMemory
	case o.want.PerNode != nil:
		return Short
	case o.policy == podspec.Single:
		return NoNode
	case o.policy == podspec.Spread:
		return Uneven
	}
	return TooFew
}

// seated reports whether the CPUs alone would have found a place.
func (o *offer) seated() bool {
	cpusOnly := o.within(o.online)
	cpusOnly.want.MemoryBytes = 0
	_, ok := cpusOnly.distribute()
	return ok
}

// advice tells what the pod's author can do.
func (r *Refusal) advice() string {
	ways := []string{"ask for fewer CPUs"}
	if r.Reason == NoMemory {
		ways = []string{"ask for less memory", "opt out of local memory"}
	}
	if (r.Reason == Uneven || r.Reason == NoNode) && r.AtRandom {
		ways = append(ways, "use the policy random")
	}
	if !r.Never {
		ways = append(ways, "wait until other pods end")
	}
	advice := strings.Join(ways, " or ")
	if r.Never {
		advice += ": as it is, the pod would not fit even if it were alone on this node"
	}
	return advice
}

func sum(n map[topology.NodeID]int) int {
	total := 0
	for _, k := range n {
		total += k
	}
	return total
}

func exclusive(cpus int) string {
	if cpus == 1 {
		return "1 exclusive CPU"
	}
	return fmt.Sprintf("%d exclusive CPUs", cpus)
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
