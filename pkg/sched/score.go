package sched

import "slices"

// Score rates a node for a pod. Greater is better, and earlier elements take precedence. An empty
// Score equals every other Score, so nodes with empty scores keep the order in which they were
// found.
type Score []int64

// Compare returns a negative number if s is worse than t. Two scores are equal if one
// is a prefix of the other.
func (s Score) Compare(t Score) int {
	n := min(len(s), len(t))
	return slices.Compare(s[:n], t[:n])
}
