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

// Why a node does not suit a pod. The zero value means that it does.
const (
	Suits         Code = iota
	NotCandidate       // the pod names its nodes, and this is none of them
	Avoided            // the node refused the like of it lately
	Insufficient       // too little of the resource in Detail is free
	NoExclusive        // the node has no exclusive CPUs
	FewExclusive       // too few exclusive CPUs are free, or too few on a NUMA node named
	Uneven             // some NUMA node cannot give its even share (spread)
	NoNUMANode         // no NUMA node has room for all of a container (single)
	NoLocalMemory      // none has both the CPUs and the memory (single)
	NoLocalGPU         // none has both the CPUs and the cards (single)
	NoSharedCPU        // no CPU would stay shared
	SearchCut          // too many ways to place the exclusive containers to try them all
	NoGPU              // too few cards of an allowed type have so much free
	Other              // Detail says it all: another filter's own words, a reason a line
	Anywhere           // Detail says why no node would do, whichever: it is the pod's own fault
)

// Reason is why a node does not suit a pod. It is comparable, so that reasons
// can be counted.
type Reason struct {
	Code   Code
	Detail string
}

// Refuses reports whether there is a reason.
func (r Reason) Refuses() bool { return r.Code != Suits }

// String returns the reason in the words that kube-scheduler has for its own.
func (r Reason) String() string { return strings.ReplaceAll(r.lines(), "\n", ", ") }

func (r Reason) lines() string {
	switch r.Code {
	case Insufficient:
		return "Insufficient " + r.Detail
	case Other, Anywhere:
		return r.Detail
	}
	words := map[Code]string{
		Suits:         "node(s) fit",
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
	}
	return words[r.Code]
}

// Tally counts nodes by the reason for which they were refused.
type Tally map[Reason]int

// String says it as kube-scheduler does, which counts a node under each of its
// reasons, and nothing where it is the pod's own fault:
// "0/5000 nodes are available: 4000 Insufficient cpu, 1000 Insufficient GPUs."
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
