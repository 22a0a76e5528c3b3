package numaplan

import (
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
)

// Outcome says why a pod gets no exclusive CPUs. The zero value means that the pod fits.
type Outcome uint8

// The outcomes. A pod with the outcome Invalid never fits. A pod with one of the outcomes after
// Invalid may fit when other pods have ended.
const (
	Fits       Outcome = iota
	Invalid            // the request contradicts itself or the machine
	TooFew             // too few CPUs are free
	Uneven             // policy "spread": a NUMA node has too few free CPUs for an even share
	NoNode             // policy "single": no NUMA node has enough free CPUs
	Short              // a NUMA node has fewer free CPUs than the request names for it
	NoMemory           // policy "single": no NUMA node has both enough free CPUs and enough free memory
	NoneShared         // no CPU would stay shared
	NotAllowed         // policy "single": none of the placements that fit is allowed, for example because too few GPUs are near the CPUs
	SearchCut          // the search for a placement reached its limit of choices
)

// String returns the outcome in CamelCase, as in the reasons of Kubernetes events.
func (r Outcome) String() string {
	names := [...]string{
		"Fits", "Invalid", "TooFewCPUs", "UnevenCPUs", "NoNUMANodeFits", "NUMANodeShort",
		"NoLocalMemory", "NoSharedCPU", "NotAllowed", "SearchCut",
	}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Outcome(%d)", r)
}

// reason returns why a complete search found no placement, although the sum of the free CPUs on all
// NUMA nodes is large enough. It may search again under other conditions, within the limit of the
// first search. If these further searches reach the limit, the reason is NoNode.
func (s *search) reason() Outcome {
	switch {
	case s.KeepShared && s.free() < s.total()+s.leastSpare():
		return NoneShared
	case slices.ContainsFunc(s.Containers, func(container podspec.Container) bool { return container.PerNode != nil }):
		return Short
	case s.Policy == podspec.Spread:
		return Uneven
	case s.Policy != podspec.Single:
		return TooFew
	case s.fitsWithoutMemory():
		return NoMemory
	case s.fitsWithoutHook():
		return NotAllowed
	}
	return NoNode
}

// leastSpare returns how many CPUs must stay free so that one CPU can be shared: the smallest
// NUMANode.Spare above 0. If no NUMA node has a Spare above 0, no free CPU can be shared. leastSpare
// then returns the number of all free CPUs, so that none is left for the pod, and the method
// `reason` returns NoneShared. The result is never larger than the number of all free CPUs.
func (s *search) leastSpare() int {
	least := s.free()
	for _, on := range s.NUMA {
		if on.Spare > 0 {
			least = min(least, on.Spare)
		}
	}
	return least
}

// fitsWithoutMemory reports whether the pod binds memory, and would fit if it bound none.
func (s *search) fitsWithoutMemory() bool {
	r := s.Request
	r.Containers = slices.Clone(r.Containers)
	bound := false
	for c := range r.Containers {
		bound = bound || s.binds(c)
		r.Containers[c].MemoryBytes = 0
	}
	return bound && s.also(newSearch(r, s.View, s.Hooks))
}

// fitsWithoutHook reports whether Hooks.Allow is set, and the pod would fit without it.
func (s *search) fitsWithoutHook() bool {
	return s.Allow != nil && s.also(newSearch(s.Request, s.View, Hooks{Tiers: s.Tiers}))
}

// also reports whether another search finds a placement within the limit of s. The choices that it
// tries count as tries of s.
func (s *search) also(other *search) bool {
	other.tries, other.limit = s.tries, s.limit
	defer func() { s.tries = other.tries }()
	return other.place(0)
}
