package pool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// Reason says why a pod is refused.
type Reason uint8

// The reasons. Invalid holds for ever; the others may pass when a pod ends.
const (
	Invalid  Reason = iota // the request contradicts itself or the machine
	TooFew                 // not so many CPUs are free
	Uneven                 // a NUMA node cannot give its even share (spread)
	NoNode                 // no NUMA node has so many CPUs free (single)
	Short                  // a NUMA node has fewer free than named for it
	NoMemory               // no NUMA node has both the CPUs and the memory free (single)
)

// String returns the reason in CamelCase, as Kubernetes events spell theirs.
func (r Reason) String() string {
	names := [...]string{"Invalid", "TooFewCPUs", "UnevenCPUs", "NoNUMANodeFits", "NUMANodeShort", "NoLocalMemory"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Reason(%d)", r)
}

// Refusal is a pod that cannot be placed, as the error of Reserve: which
// container, what it asked for, and what was free to it at that moment (the
// pod's other containers placed before it have theirs).
type Refusal struct {
	Reason      Reason
	Container   string
	Policy      Policy
	CPUs        int
	PerNode     map[topology.NodeID]int // asked for by name; nil without
	MemoryBytes uint64                  // asked for, where memory is bound
	Free        map[topology.NodeID]int
	Ever        map[topology.NodeID]int    // what would be free if every other pod ended
	FreeMemory  map[topology.NodeID]uint64 // bytes near each node; nil unless NoMemory
	Detail      string                     // of Invalid
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
	if r.Container == "" {
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
	return fmt.Sprintf("free are %s (%d in all)", numbers(r.Free), sum(r.Free))
}

func (r *Refusal) both() string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(r.Free)) {
		parts = append(parts, fmt.Sprintf("numa%d %d and %s", id, r.Free[id], size(r.FreeMemory[id])))
	}
	return strings.Join(parts, ", ")
}
