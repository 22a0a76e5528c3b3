package sched

import "slices"

// Score says how well a node suits a pod: the greater the better, first element
// first. An empty Score leaves nodes in the order in which they were found.
type Score []int64

// Compare is negative where s is worse than t. Where one is the other's
// beginning the two are equal.
func (s Score) Compare(t Score) int {
	n := min(len(s), len(t))
	return slices.Compare(s[:n], t[:n])
}
