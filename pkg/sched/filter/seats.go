package filter

import (
	"cmp"
	"slices"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// searchBudget bounds the ways in which the containers of one pod are tried on
// one node. One container needs a few; to seat many under the policy single is
// bin packing, where a search without bound could take for ever. A pod whose
// search is cut short counts as one that does not fit.
const searchBudget = 2000

// seating is a search for counts of CPUs, by container and NUMA node, such that
// every container has its policy and the pod's peak fits on every NUMA node.
//
// It tries the containers one by one, biggest first, each in the order of
// preference of its policy, and goes back where the rest cannot be seated. A
// greedy pass alone was rejected: it refuses pods that fit, as apps of 4, 3 and
// 3 CPUs on NUMA nodes of 6 and 4. What the counts leave open, namely which
// CPUs, is the node's: its ledger honours any counts whose peak fits
// (package pool places containers in the order in which they run, and then
// holds exactly the peak).
type seating struct {
	pod    *sched.Pod
	node   *sched.Node
	hand   hand     // cards that some containers need beside their CPUs
	order  []int    // containers, in the order in which they are tried
	counts []counts // by container; nil while not seated
	tries  int
}

// counts is a number of CPUs for each of a record's NUMA nodes, by index.
type counts []int

// seats distributes the exclusive containers of a pod over a node's NUMA nodes, with
// cards to choose from, where it needs some.
func seats(pod *sched.Pod, node *sched.Node, cards hand) ([]sched.ContainerCPUs, sched.Reason) {
	if len(pod.Exclusive) == 0 {
		return nil, sched.Reason{}
	}
	if len(node.NUMA) == 0 {
		return nil, sched.Reason{Code: sched.NoExclusive}
	}
	s := seating{pod: pod, node: node, hand: cards, order: biggestFirst(pod.Exclusive), counts: make([]counts, len(pod.Exclusive))}
	if !s.seat(0) {
		return nil, s.refuse()
	}
	return s.containers(), sched.Reason{}
}

// biggestFirst returns the containers' indexes by falling count.
func biggestFirst(wants []podspec.Container) []int {
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(wants[j].CPUs, wants[i].CPUs) })
	return order
}

// seat finds places for the containers from the i-th in order on.
func (s *seating) seat(i int) bool {
	if i == len(s.order) {
		return true
	}
	c := s.order[i]
	for option := range s.options(c) {
		if s.tries++; s.tries > searchBudget {
			break
		}
		s.counts[c] = option
		if s.fits() && s.seat(i+1) {
			return true
		}
	}
	s.counts[c] = nil
	return false
}

// fits reports whether what is seated so far has room: a peak only grows by
// seating more.
func (s *seating) fits() bool {
	left := 0
	for n := range s.node.NUMA {
		on := &s.node.NUMA[n]
		held := s.node.Cores(s.peak(n))
		if held > 0 && held > on.FreeCPUs || s.bound(n) > on.FreeMemory {
			return false
		}
		left += on.FreeCPUs - held
	}
	return left >= s.node.Spare && s.joined()
}

// peak returns how many CPUs the pod holds on a NUMA node.
func (s *seating) peak(n int) int {
	return int(podspec.Peak(s.pod.Exclusive, func(c int) int64 { return int64(s.on(c, n)) }))
}

// bound returns how much memory the pod binds on a NUMA node.
func (s *seating) bound(n int) sched.Bytes {
	if s.pod.CPUPolicy != podspec.Single {
		return 0
	}
	return sched.Bytes(podspec.Peak(s.pod.Exclusive, func(c int) int64 {
		if s.on(c, n) == 0 || !s.pod.BindsMemory(c) {
			return 0
		}
		return int64(s.pod.Exclusive[c].MemoryBytes)
	}))
}

// on returns the CPUs of container c on NUMA node n.
func (s *seating) on(c, n int) int {
	if s.counts[c] == nil {
		return 0
	}
	return s.counts[c][n]
}

// containers writes the counts down by NUMA id.
func (s *seating) containers() []sched.ContainerCPUs {
	all := make([]sched.ContainerCPUs, len(s.counts))
	for c, counts := range s.counts {
		all[c] = sched.ContainerCPUs{Container: s.pod.Exclusive[c].Name, PerNode: map[topology.NodeID]int{}}
		for n, cpus := range counts {
			if cpus > 0 {
				all[c].PerNode[s.node.NUMA[n].ID] = cpus
			}
		}
	}
	return all
}
