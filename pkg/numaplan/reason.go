package numaplan

import (
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
)

// Outcome says why a pod gets no exclusive CPUs. The zero value means that it fits.
type Outcome uint8

// The outcomes. Invalid is permanent; the others may pass when a pod ends.
const (
	Fits       Outcome = iota
	Invalid            // the request contradicts itself or the machine
	TooFew             // too few CPUs are free
	Uneven             // a NUMA node has too few free CPUs for an even distribution (spread)
	NoNode             // no NUMA node has enough free CPUs (single)
	Short              // a NUMA node has fewer free CPUs than the request names for it
	NoMemory           // no NUMA node has both enough free CPUs and enough free memory (single)
	NoneShared         // no CPU would stay shared
	NotAllowed         // Hooks.Allow allows none of the placements that fit (single)
	SearchCut          // none of the first SearchLimit placements that were tried fits
)

// String returns the reason in CamelCase, as Kubernetes events spell theirs.
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

// reason returns why a complete search found nothing although enough CPUs are
// free in all.
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

// leastSpare returns the minimal number of CPUs that must stay free so that one is shared.
func (s *search) leastSpare() int {
	least := s.free()
	for _, on := range s.NUMA {
		if on.Spare > 0 {
			least = min(least, on.Spare)
		}
	}
	return least
}

// fitsWithoutMemory reports whether the pod would fit if it bound no memory.
func (s *search) fitsWithoutMemory() bool {
	r := s.Request
	r.Containers = slices.Clone(r.Containers)
	bound := false
	for c := range r.Containers {
		bound = bound || s.binds(c)
		r.Containers[c].MemoryBytes = 0
	}
	return bound && newSearch(r, s.View, s.Hooks).place(0)
}

// fitsWithoutHook reports whether the pod would fit without Hooks.Allow.
func (s *search) fitsWithoutHook() bool {
	return s.Allow != nil && newSearch(s.Request, s.View, Hooks{Tiers: s.Tiers}).place(0)
}
