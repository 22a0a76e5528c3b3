package virtual

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// Nodes yields the nodes in their current state.
func (v *Cluster) Nodes() iter.Seq[*sched.Node] { return v.state.View().Nodes() }

// Running returns the running work, sorted by UID.
func (v *Cluster) Running() []Ran {
	return slices.SortedFunc(maps.Values(v.running), func(a, b Ran) int { return strings.Compare(a.Pod.UID, b.Pod.UID) })
}

// Order returns the pods that have no node yet, in the order in which the controller's queue would
// schedule them now. Order compares the scores of pods of different resource types with each other. The
// controller's queue does so only if pods of both types compete for the same resources: for
// example, pods that need a T4 and pods that accept a T4 or a V100.
func (v *Cluster) Order() []Ran {
	ranks := map[string]float64{}
	for uid, r := range v.pending {
		if v.rules.Turns == ByScore {
			ranks[uid] = v.book.Rank(r.Tenant, r.Type, v.Now())
		}
	}
	return slices.SortedFunc(maps.Values(v.pending), func(a, b Ran) int {
		return cmp.Or(cmp.Compare(ranks[a.Pod.UID], ranks[b.Pod.UID]), a.Created.Compare(b.Created), strings.Compare(a.Pod.UID, b.Pod.UID))
	})
}
