package pool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Reason says why a pod is refused.
type Reason uint8

// The reasons. Invalid holds for ever; the others may pass when a pod ends.
const (
	Invalid    Reason = iota // the request contradicts itself or the machine
	TooFew                   // not so many CPUs are free
	Uneven                   // a NUMA node cannot give its even share (spread)
	NoNode                   // no NUMA node has so many CPUs free (single)
	Short                    // a NUMA node has fewer free than named for it
	NoMemory                 // no NUMA node has both the CPUs and the memory free (single)
	NoneShared               // no CPU would stay shared
)

// String returns the reason in CamelCase, as Kubernetes events spell theirs.
func (r Reason) String() string {
	names := [...]string{"Invalid", "TooFewCPUs", "UnevenCPUs", "NoNUMANodeFits", "NUMANodeShort", "NoLocalMemory", "NoSharedCPU"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Reason(%d)", r)
}

// Refusal is a pod that cannot be placed, as the error of Reserve: which
// container, what it asked for, and what was free to it at that moment (the
// pod's other containers placed before it have theirs). NoneShared is about the
// pod as a whole.
type Refusal struct {
	Reason      Reason
	Container   string
	Policy      podspec.Policy
	CPUs        int
	PerNode     map[topology.NodeID]int // asked for by name; nil without
	MemoryBytes uint64                  // asked for, where memory is bound
	Free        map[topology.NodeID]int
	FreeMemory  map[topology.NodeID]uint64 // bytes near each node; nil unless NoMemory
	Detail      string                     // of Invalid
	// What the same pod was tried with, all its containers (not when Invalid):
	Never    bool // it would not fit even if every other pod ended
	AtRandom bool // it would fit now with the policy random
}

// Error says in one sentence what was asked, what is free on each NUMA node,
// and what to do.
func (r *Refusal) Error() string {
	if r.Reason == Invalid {
		return fmt.Sprintf("%s cannot have exclusive CPUs: %s", r.who(), r.Detail)
	}
	return fmt.Sprintf("%s asks for %s%s, but %s; %s", r.who(), exclusive(r.CPUs), r.wish(), r.have(), r.advice())
}

// who names the container; a question to Pick has no name.
func (r *Refusal) who() string {
	switch {
	case r.Reason == NoneShared:
		return "the pod"
	case r.Container == "":
		return "the request"
	}
	return fmt.Sprintf("container %q", r.Container)
}

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
		return " (" + numbers(r.PerNode) + ")"
	}
	return ""
}

func (r *Refusal) have() string {
	if r.Reason == NoMemory {
		return "no node has both free: " + r.both()
	}
	free := fmt.Sprintf("free are %s (%d in all)", numbers(r.Free), sum(r.Free))
	if r.Reason == NoneShared {
		free += " and it would leave no CPU for shared containers; at least one stays shared"
	}
	return free
}

func (r *Refusal) both() string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(r.Free)) {
		parts = append(parts, fmt.Sprintf("numa%d %d and %s", id, r.Free[id], size(r.FreeMemory[id])))
	}
	return strings.Join(parts, ", ")
}
