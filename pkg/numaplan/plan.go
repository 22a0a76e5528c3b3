package numaplan

import (
	"iter"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Request is one pod's request.
type Request struct {
	Policy     podspec.Policy
	Seed       uint64              // seed of Random; equal seeds give equal choices
	Containers []podspec.Container // with exclusive CPUs, in the order in which they start
}

// View is the free resources of one machine.
type View struct {
	NUMA []NUMANode // those with CPUs
	// CoreWidth is the allocation unit in CPUs: the threads of a core where pods never
	// share a core. 0 and 1 mean single CPUs.
	CoreWidth int
	// KeepShared requires that one of the free CPUs stays free for shared containers,
	// because they have no other CPU.
	KeepShared bool
}

// NUMANode is the free resources of one NUMA node. Values below 0 count as 0.
type NUMANode struct {
	ID         topology.NodeID
	FreeCPUs   int
	FreeMemory int64 // bytes in the memory nearest to it
	// Spare is how many of its CPUs must stay free so that one of them is shared: 1, or
	// the width of a core. It is 0 where none of them can be shared.
	Spare int
	// Near lists the indexes in View.NUMA of the NUMA nodes whose bound memory
	// may lie in this one's nearest memory; nil means this one only.
	Near []int
}

// Counts is a number of CPUs for each of View.NUMA, by index.
type Counts []int

// Hooks add the caller's constraints and preferences. All are optional.
type Hooks struct {
	// Allow reports whether the placement of the containers so far, by index, is allowed;
	// nil counts are not placed yet. It must be monotonic: if it rejects a placement, it
	// must reject every extension of it.
	Allow func(placed []Counts) bool
	// Tiers yields preferred parts of the machine for a container, best first, such as
	// performance cores. A container that fits none of them is placed anywhere.
	Tiers func(container int, placed []Counts) iter.Seq[Tier]
}

// Tier is a part of a machine as one container sees it.
type Tier struct {
	Rooms []Room // by index in View.NUMA
	// Cost rates an increase of a container's CPUs on one NUMA node. Costs compare
	// lexicographically; the smaller is better.
	Cost func(node, from, to int) Cost
}

// Cost rates a choice.
type Cost [6]int

// Room is what one NUMA node has for one container, given the containers placed so far.
type Room struct {
	Idle  int // CPUs of the pod's own that it may reuse
	Free  int // free CPUs that the pod does not hold yet
	Loose int // of the free ones, those that complete cores which the pod started
	Whole int // of the free ones, those in cores that are free as a whole
}

// fresh returns how many more CPUs the pod would hold if the container got k CPUs here.
func (r Room) fresh(k int) int { return max(0, k-r.Idle) }

// have returns how many CPUs the container can get here.
func (r Room) have() int { return r.Idle + r.Free }

// Plan returns the counts of each of the request's containers, by index, or the reason why
// there is no plan. It is deterministic.
func Plan(request Request, view View, h Hooks) ([]Counts, Outcome) {
	s := newSearch(request, view, h)
	if s.total() > s.free() {
		return nil, TooFew
	}
	if s.place(0) || s.placeSparing() {
		return s.placed, Fits
	}
	if s.cut {
		return nil, SearchCut
	}
	return nil, s.reason()
}

// PerNode returns counts by the ids of the NUMA nodes, without zeros.
func (v View) PerNode(c Counts) map[topology.NodeID]int {
	m := make(map[topology.NodeID]int, len(c))
	for n, k := range c {
		if k > 0 {
			m[v.NUMA[n].ID] = k
		}
	}
	return m
}
