package filter

import (
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// refuse names the reason once no seats were found.
func (s *seating) refuse() sched.Reason {
	free, peak := int(freeExclusive(s.node)), int(peakExclusive(s.pod))
	switch {
	case free < peak:
		return sched.Reason{Code: sched.FewExclusive}
	case free < peak+s.node.Spare:
		return sched.Reason{Code: sched.NoSharedCPU}
	case slices.ContainsFunc(s.pod.Exclusive, func(w podspec.Container) bool { return w.PerNode != nil }):
		return sched.Reason{Code: sched.FewExclusive}
	case s.pod.CPUPolicy == podspec.Spread:
		return sched.Reason{Code: sched.Uneven}
	case s.pod.CPUPolicy == podspec.Single && s.lacksMemory():
		return sched.Reason{Code: sched.NoLocalMemory}
	case s.pod.CPUPolicy == podspec.Single && s.lacksCards():
		return sched.Reason{Code: sched.NoLocalGPU}
	case s.pod.CPUPolicy == podspec.Single:
		return sched.Reason{Code: sched.NoNUMANode}
	}
	return sched.Reason{Code: sched.FewExclusive}
}

// lacksMemory reports whether the CPUs alone would have found seats.
func (s *seating) lacksMemory() bool {
	cpusOnly := *s.pod
	cpusOnly.Exclusive = slices.Clone(s.pod.Exclusive)
	bound := false
	for c := range cpusOnly.Exclusive {
		bound = bound || cpusOnly.BindsMemory(c)
		cpusOnly.Exclusive[c].MemoryBytes = 0
	}
	if !bound {
		return false
	}
	_, r := seats(&cpusOnly, s.node, s.hand)
	return !r.Refuses()
}

// lacksCards reports whether the containers would have found seats with no need of
// cards beside them.
func (s *seating) lacksCards() bool {
	if len(s.hand.cards) == 0 {
		return false
	}
	_, r := seats(s.pod, s.node, hand{})
	return !r.Refuses()
}
