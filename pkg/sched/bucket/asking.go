package bucket

import (
	"cmp"
	"slices"
	"strings"
)

// asking is a query put to a view.
type asking struct {
	Query
	view  *View
	x     []int64  // coordinate of the request
	among []*entry // the candidates, if the query names some
}

func (v View) ask(q Query) asking {
	a := asking{Query: q, view: &v, x: v.space.coordinate(q.Request)}
	for _, name := range q.Candidates {
		if e := v.byName.find(name); e != nil {
			a.among = append(a.among, e)
		}
	}
	return a
}

// fits says whether the bucket's space meets the region {c : c ≥ x(t)} and whether the bucket holds a candidate. O(|candidates|).
func (a *asking) fits(b Bucket) bool {
	if !meets(b.X, a.x) {
		return false
	}
	if a.Candidates == nil {
		return b.Len() > 0
	}
	return slices.ContainsFunc(a.among, func(e *entry) bool { return compareX(e.x, b.X) == 0 })
}

// meets says whether some coordinate that begins with x is nowhere less than least.
func meets(x, least []int64) bool {
	for l, c := range x {
		if c < least[l] {
			return false
		}
	}
	return true
}

// named says whether the node is a candidate.
func (a *asking) named(e *entry) bool { return a.Candidates == nil || slices.Contains(a.among, e) }

// takes says whether the task can go to a node: exact amounts decide, then Accept.
func (a *asking) takes(e *entry) bool {
	return e.Free.Covers(a.Request) && (a.Accept == nil || a.Accept(&e.Node))
}

// inTurn returns all candidates in the policy's order. O(n log n): for people and tests.
func (a *asking) inTurn() []*entry {
	all := slices.Clone(a.among)
	if a.Candidates == nil {
		for r := range a.view.byName.size() {
			all = append(all, a.view.byName.at(r))
		}
	}
	slices.SortFunc(all, a.compare)
	all = slices.Compact(all)
	if a.Policy == Random {
		a.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

// compare orders nodes as the policy does, the first to take first. Random has no order.
func (a *asking) compare(e, f *entry) int {
	switch a.Policy {
	case LeastFit:
		return cmp.Or(slices.Compare(f.x, e.x), strings.Compare(e.Name, f.Name))
	case BestFit:
		return cmp.Or(slices.Compare(e.x, f.x), strings.Compare(e.Name, f.Name))
	case NextFit:
		return cmp.Or(cmp.Compare(a.lap(e), a.lap(f)), strings.Compare(e.Name, f.Name))
	default:
		return strings.Compare(e.Name, f.Name)
	}
}

// lap returns 0 for a node that NextFit meets before it comes round to the first name again, and 1 for the others.
func (a *asking) lap(e *entry) int {
	if e.Name > a.After {
		return 0
	}
	return 1
}
