package numaplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Refusal is the error for a pod that gets no exclusive CPUs. It is about the first container that
// does not fit. It has the request of this container, and the resources that are free after the
// containers before it have been placed. A Refusal with the reason NoneShared or SearchCut is about
// the whole pod instead.
type Refusal struct {
	Reason      Outcome
	Container   string
	Policy      podspec.Policy
	CPUs        int
	PerNode     map[topology.NodeID]int // CPUs that the request names for each NUMA node, or nil
	MemoryBytes uint64                  // requested bytes, if memory is bound
	Free        map[topology.NodeID]int
	FreeMemory  map[topology.NodeID]uint64 // free bytes in the memory nearest to each NUMA node; nil unless Reason is NoMemory
	Detail      string                     // why the request is invalid; only for Invalid
	// Never and AtRandom are results of attempts to place the whole pod under other conditions.
	// Explain does not set them. Package pool sets them after it has called Explain.
	Never    bool // the pod would not fit even if every other pod ended
	AtRandom bool // the pod would fit now with the policy "random"
}

// Explain returns why Plan found no solution for the same arguments. It places the containers in
// the order in which they start. Of the choices that fit a container, it takes the one that is best
// by the policy. It reports the first container for which no choice fits. Explain does not require
// that a CPU stays shared. So if each container has a choice that fits, Plan has failed because no
// CPU would stay shared (NoneShared) or because its search reached the limit (SearchCut).
func Explain(request Request, view View, h Hooks) *Refusal {
	_, reason := Plan(request, view, h)
	s := newSearch(request, view, h)
	s.KeepShared = false
	for c := range request.Containers {
		for option := range s.options(c) {
			s.placed[c] = option
			if s.fits() {
				break
			}
			s.placed[c] = nil
		}
		if s.placed[c] == nil {
			return s.refuse(c)
		}
	}
	if reason != SearchCut {
		reason = NoneShared
	}
	return &Refusal{Reason: reason, Policy: request.Policy, CPUs: s.total(), Free: s.freePerNode(func(on NUMANode, _ int) int { return max(0, on.FreeCPUs) })}
}

// refuse returns why container c does not fit in addition to the containers that are placed so far.
func (s *search) refuse(c int) *Refusal {
	rooms, want := s.anywhere(c).Rooms, s.Containers[c]
	r := &Refusal{
		Reason: s.lack(c, rooms), Container: want.Name, Policy: s.Policy, CPUs: want.CPUs, PerNode: want.PerNode,
		Free: s.freePerNode(func(_ NUMANode, n int) int { return rooms[n].have() }),
	}
	if r.Reason != NoMemory {
		return r
	}
	r.MemoryBytes, r.FreeMemory = want.MemoryBytes, map[topology.NodeID]uint64{}
	for n, on := range s.NUMA {
		bound := besides(s.Containers, c, func(other int) int64 { return s.boundNear(other, n) })
		r.FreeMemory[on.ID] = uint64(max(0, on.FreeMemory-bound))
	}
	return r
}

// lack returns the reason why container c does not fit.
func (s *search) lack(c int, rooms []Room) Outcome {
	want := s.Containers[c]
	switch {
	case s.Policy == podspec.Single && s.hasCPUs(want, rooms):
		return NoMemory
	case want.PerNode != nil:
		return Short
	case s.Policy == podspec.Single:
		return NoNode
	case s.Policy == podspec.Spread:
		return Uneven
	}
	return TooFew
}

// hasCPUs reports whether the CPUs of a container with the policy "single" would fit if it
// requested no memory.
func (s *search) hasCPUs(want podspec.Container, rooms []Room) bool {
	enough := func(n int) bool {
		if want.PerNode != nil {
			return rooms[n].have() >= want.PerNode[s.NUMA[n].ID]
		}
		return rooms[n].have() >= want.CPUs
	}
	able := 0
	for n := range rooms {
		if enough(n) {
			able++
		}
	}
	return want.PerNode == nil && able > 0 || able == len(rooms)
}

func (s *search) freePerNode(free func(NUMANode, int) int) map[topology.NodeID]int {
	m := make(map[topology.NodeID]int, len(s.NUMA))
	for n, on := range s.NUMA {
		m[on.ID] = free(on, n)
	}
	return m
}

// Error returns a sentence that has the request, the free resources of each NUMA node, and advice.
// If the request is invalid, the sentence only says why.
func (r *Refusal) Error() string {
	if r.Reason == Invalid {
		return fmt.Sprintf("%s cannot have exclusive CPUs: %s", r.subject(), r.Detail)
	}
	return fmt.Sprintf("%s asks for %s%s, but %s; %s", r.subject(), exclusive(r.CPUs), r.wish(), r.shortage(), r.advice())
}

// subject returns what the sentence of Error is about. A container's name can be empty if the
// command "numalet pick" makes the request.
func (r *Refusal) subject() string {
	switch {
	case r.Reason == NoneShared || r.Reason == SearchCut:
		return "the pod"
	case r.Container == "":
		return "the request"
	}
	return fmt.Sprintf("container %q", r.Container)
}

// wish returns the part of the error's sentence that describes how the CPUs should be distributed.
func (r *Refusal) wish() string {
	switch r.Reason {
	case Uneven:
		if share := r.CPUs / len(r.Free); share > 0 {
			return fmt.Sprintf(" spread evenly, at least %d on each NUMA node", share)
		}
		return " on as many NUMA nodes"
	case NoNode:
		return " on one NUMA node"
	case NoMemory:
		return fmt.Sprintf(" with %s of memory on one NUMA node", size(r.MemoryBytes))
	case Short:
		return " (" + Numbers(r.PerNode) + ")"
	}
	return ""
}

// shortage returns the part of the error's sentence that has the free resources and says why they
// do not suffice.
func (r *Refusal) shortage() string {
	if r.Reason == NoMemory {
		return "no node has both free: " + r.freeOfBoth()
	}
	free := fmt.Sprintf("free are %s (%d in all)", Numbers(r.Free), sum(r.Free))
	switch r.Reason {
	case NoneShared:
		free += " and it would leave no CPU for shared containers; at least one stays shared"
	case SearchCut:
		free += fmt.Sprintf(" and none of the first %d ways to place its containers there fits", SearchLimit)
	}
	return free
}

func (r *Refusal) freeOfBoth() string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(r.Free)) {
		parts = append(parts, fmt.Sprintf("numa%d %d and %s", id, r.Free[id], size(r.FreeMemory[id])))
	}
	return strings.Join(parts, ", ")
}

// advice returns the part of the error's sentence that says what the author of the pod can do.
func (r *Refusal) advice() string {
	ways := []string{"ask for fewer CPUs"}
	switch r.Reason {
	case NoMemory:
		ways = []string{"ask for less memory", "opt out of local memory"}
	case SearchCut:
		ways = []string{"ask for exclusive CPUs in fewer containers"}
	}
	if (r.Reason == Uneven || r.Reason == NoNode || r.Reason == SearchCut) && r.AtRandom {
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

// Numbers returns counts by NUMA node as text, such as "numa0 4, numa1 6".
func Numbers(n map[topology.NodeID]int) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("numa%d %d", id, n[id]))
	}
	return strings.Join(parts, ", ")
}

// size returns an amount of memory as text with one decimal, rounded down, such as "1.5GiB".
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
