package group

import (
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Due is what a pod is to be charged with.
type Due struct {
	UID, Tenant string
	Charge
}

// Together says why fewer than need of several pods may be charged now, one after the
// other: which limit is in the way of the first one that may not, and how much need of
// them ask for of it. Who is charged already is one of those that may. The error is a
// *Refusal.
func (q *Quotas) Together(dues []Due, need int) error {
	pending := slices.DeleteFunc(slices.Clone(dues), func(d Due) bool { _, charged := q.held[d.UID]; return charged })
	need -= len(dues) - len(pending)
	var inTheWay []Scope
	sum, may := map[Scope]sched.MilliGPU{}, 0
	for _, d := range pending {
		with := d.beside(sum)
		if s, over := q.over(with); over {
			inTheWay = append(inTheWay, s)
			continue
		}
		sum, may = with, may+1
	}
	if may >= need || len(inTheWay) == 0 {
		return nil
	}
	whole := map[Scope]sched.MilliGPU{}
	for _, d := range pending[:need] {
		whole = d.beside(whole)
	}
	return q.refuse(inTheWay[0], whole[inTheWay[0]])
}

// beside adds what is due to what others ask for.
func (d Due) beside(others map[Scope]sched.MilliGPU) map[Scope]sched.MilliGPU {
	sum := maps.Clone(others)
	for s, amount := range sums(d.Tenant, []Charge{d.Charge}) {
		sum[s] += amount
	}
	return sum
}
