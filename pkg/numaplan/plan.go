package numaplan

import (
	"iter"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Request is one pod's request.
type Request struct {
	Policy     podspec.Policy
	Seed       uint64              // seed for the choices of podspec.Random; equal seeds give equal choices
	Containers []podspec.Container // containers with exclusive CPUs, in the order in which they start
	Effort     *Effort             // limits this call of Plan together with others; nil means that only SearchLimit limits it
}

// View is the free resources of one machine.
type View struct {
	NUMA []NUMANode // the NUMA nodes with CPUs
	// CoreWidth is the unit, in CPUs, in which CPUs are allocated. If pods never share a core, it
	// is the number of threads of a core. 0 and 1 mean single CPUs.
	CoreWidth int
	// KeepShared requires that enough CPUs stay free on at least one NUMA node, so that containers
	// without exclusive CPUs have a CPU to run on. NUMANode.Spare says how many CPUs are enough.
	KeepShared bool
}

// NUMANode is the free resources of one NUMA node. Values below 0 count as 0.
type NUMANode struct {
	ID         topology.NodeID
	FreeCPUs   int
	FreeMemory int64 // free bytes in the memory nearest to the NUMA node
	// Spare is how many of the NUMA node's free CPUs must stay free so that one of them can be
	// shared: 1, or the number of CPUs of a core if pods never share a core. It is 0 if none of them
	// can be shared.
	Spare int
	// Near lists all NUMA nodes that have the same nearest memory as this one, including this one,
	// by their indexes in View.NUMA. It is nil if no other NUMA node has the same nearest memory.
	Near []int
}

// Counts has a number of CPUs for each NUMA node, by index in View.NUMA.
type Counts []int

// Hooks are functions with the caller's constraints and preferences. Each may be nil.
type Hooks struct {
	// Allow reports whether the containers that are placed so far may be placed in this way. The
	// parameter `placed` has the Counts of each container. The Counts of a container that is not
	// placed yet are nil. If Allow returns false for some placed containers, it must also return
	// false if further containers are placed in addition. The reason is that the search then tries
	// no further containers.
	Allow func(placed []Counts) bool
	// Tiers yields parts of the machine that are preferred for a container, best first. An example
	// of a part is all performance cores. A container that fits none of these parts is placed
	// anywhere.
	Tiers func(container int, placed []Counts) iter.Seq[Tier]
}

// Tier is a part of a machine, such as all performance cores, with the CPUs that one container may
// get.
type Tier struct {
	Rooms []Room // by index in View.NUMA
	// Cost rates an increase of the container's CPUs on one NUMA node. The parameters `from` and
	// `to` are the numbers of CPUs before and after the increase. Costs are compared
	// lexicographically, and the smaller one is better.
	Cost func(node, from, to int) Cost
}

// Cost rates a choice of a NUMA node; see Tier.Cost.
type Cost [6]int

// Room has the numbers of CPUs that one container may get on one NUMA node. They depend on the
// containers of the pod that are placed already.
type Room struct {
	Idle  int // CPUs of other containers of the pod that this container may reuse
	Free  int // free CPUs that the pod does not hold yet
	Loose int // those of Free that are in cores where the pod already holds another CPU
	Whole int // those of Free that are in entirely free cores; all of Free if the cores are not known
}

// fresh returns how many more CPUs the pod would hold on the NUMA node if the container got k CPUs
// there.
func (r Room) fresh(k int) int { return max(0, k-r.Idle) }

// have returns how many CPUs the container can get on the NUMA node.
func (r Room) have() int { return r.Idle + r.Free }

// Plan returns how many CPUs each of the request's containers gets on each NUMA node, by index in
// request.Containers. If the pod does not fit, it returns the reason. It is deterministic. If it
// finds a solution, it would find the same one without request.Effort.
func Plan(request Request, view View, h Hooks) ([]Counts, Outcome) {
	s := newSearch(request, view, h)
	defer func() { request.Effort.spend(s.tries) }()
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

// PerNode returns the numbers of CPUs in c by NUMA node id, without zeros.
func (v View) PerNode(c Counts) map[topology.NodeID]int {
	m := make(map[topology.NodeID]int, len(c))
	for n, k := range c {
		if k > 0 {
			m[v.NUMA[n].ID] = k
		}
	}
	return m
}
