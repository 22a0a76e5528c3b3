package sched

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Code is the kind of a Reason.
type Code uint8

// The reasons why a node does not fit a pod. The zero value, Fits, means that the node fits.
const (
	Fits          Code = iota
	NotCandidate       // the pod lists its candidate nodes, and the node is not among them
	Avoided            // the node recently rejected a pod of the same owner
	Insufficient       // too little of the resource in Detail is free
	NoExclusive        // the node has no exclusive CPUs
	FewExclusive       // too few exclusive CPUs are free on the node, or on a NUMA node that the pod names
	Uneven             // CPU policy "spread": a NUMA node has too few free CPUs for its even share
	NoNUMANode         // CPU policy "single": no NUMA node has enough free CPUs for a whole container
	NoLocalMemory      // CPU policy "single": no NUMA node has both enough free CPUs and enough free memory
	NoLocalGPU         // CPU policy "single": no NUMA node has both enough free CPUs and enough free GPUs
	NoSharedCPU        // no CPU would be left for containers without exclusive CPUs
	SearchCut          // the search limit was reached before a placement was found
	NoGPU              // too few GPUs of an allowed type have enough free capacity
	Reserved           // the pod would fit if nothing were reserved on the node for another pod
	Other              // a reason that has no code of its own; Detail has its messages, one per line
	Anywhere           // the pod fits no node, for a reason that does not depend on the node; Detail has the reason
)

// Reason is why a node does not fit a pod. It is comparable, so that reasons
// can be counted.
type Reason struct {
	Code   Code
	Detail string
}

// Refuses reports whether the node does not fit: whether r is a reason, and not the zero
// value.
func (r Reason) Refuses() bool { return r.Code != Fits }

// String returns the reason in the style of kube-scheduler's messages.
func (r Reason) String() string { return strings.ReplaceAll(r.lines(), "\n", ", ") }

func (r Reason) lines() string {
	switch r.Code {
	case Insufficient:
		return "Insufficient " + r.Detail
	case Other, Anywhere:
		return r.Detail
	}
	words := map[Code]string{
		Fits:          "node(s) fit",
		NotCandidate:  "node(s) were not among the pod's candidates",
		Avoided:       "node(s) rejected the placement of a pod of the same owner a short time ago",
		NoExclusive:   "node(s) had no exclusive CPUs",
		FewExclusive:  "Insufficient exclusive CPUs",
		Uneven:        "node(s) couldn't spread the exclusive CPUs evenly over their NUMA nodes",
		NoNUMANode:    "node(s) had no NUMA node with enough exclusive CPUs",
		NoLocalMemory: "node(s) had no NUMA node with enough exclusive CPUs and memory",
		NoLocalGPU:    "node(s) had no NUMA node with enough exclusive CPUs and GPUs",
		NoSharedCPU:   "node(s) would have had no CPU left for shared containers",
		SearchCut:     "node(s) had more ways to place the pod's exclusive containers than are tried",
		NoGPU:         "Insufficient GPUs",
		Reserved:      "node(s) had room only where a reservation keeps it for another pod",
	}
	return words[r.Code]
}

// Tally counts refused nodes by reason.
type Tally map[Reason]int

// String formats the counts as kube-scheduler does. A node counts under each of its reasons. A
// reason with the code Anywhere has no count, because it does not depend on the nodes. An
// example is "0/5000 nodes are available: 4000 Insufficient cpu, 1000 Insufficient GPUs."
func (t Tally) String() string {
	nodes, counts := 0, map[string]int{}
	for r, n := range t {
		nodes += n
		if r.Code == Anywhere {
			n = 0
		}
		for line := range strings.SplitSeq(r.lines(), "\n") {
			counts[line] += n
		}
	}
	if len(counts) == 0 {
		return "0/0 nodes are available."
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, r := range reasons {
		if counts[r] > 0 {
			reasons[i] = fmt.Sprintf("%d %s", counts[r], r)
		}
	}
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(reasons, ", "))
}
