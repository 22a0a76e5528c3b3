package distbucket

import (
	"cmp"
	"slices"
)

// asking is a query put to a view.
type asking struct {
	Query
	view  View
	code  code     // of the request
	among []*entry // the candidates, if the query names some
	from  key      // labels that are not greater come last: of all with NextFit, of a leaf's with LeastFit and BestFit
	drawn bool     // from is known; where nothing fits it need not be
}

func (v View) ask(q Query) asking {
	a := asking{Query: q, view: v, code: encode(q.Request)}
	if q.Policy == Random && q.Rand == nil {
		a.Policy = FirstFit
	}
	if q.Candidates != nil {
		a.among = make([]*entry, 0, len(q.Candidates))
	}
	for _, name := range q.Candidates {
		if e := v.find(name); e != nil {
			a.among = append(a.among, e)
		}
	}
	return a
}

// start returns the label behind which names begin, drawn when it is first needed.
func (a *asking) start() key {
	if !a.drawn {
		a.from, a.drawn = a.first(), true
	}
	return a.from
}

func (a *asking) first() key {
	switch {
	case a.Policy == FirstFit || a.Policy == Random:
		return none
	case a.Policy == NextFit || a.After != (Mark{}) || a.Rand == nil:
		return a.view.labelOf(a.After)
	case a.Candidates == nil && a.view.Len() > 0:
		return a.view.byName.at(a.Rand.IntN(a.view.Len())).label
	case len(a.among) > 0:
		return a.among[a.Rand.IntN(len(a.among))].label
	}
	return none
}

// named says whether the node is a candidate.
func (a *asking) named(e *entry) bool { return a.Candidates == nil || slices.Contains(a.among, e) }

// takes says whether the task can go to a node: exact amounts decide, then Accept.
func (a *asking) takes(e *entry) bool {
	return e.Free.Covers(a.Request) && (a.Accept == nil || a.Accept(&e.Node))
}

// compare orders nodes as the policy does, the first to take first. Random has no order.
func (a *asking) compare(e, f *entry) int {
	c := 0
	switch a.Policy {
	case LeastFit:
		c = byLeaf(f, e)
	case BestFit:
		c = byLeaf(e, f)
	}
	if c == 0 {
		c = cmp.Compare(a.lap(e), a.lap(f))
	}
	if c == 0 {
		c = byLabel(e, f)
	}
	return c
}

// lap returns 0 for a node that comes before the names begin anew, and 1 for the others.
func (a *asking) lap(e *entry) int {
	if e.label > a.start() {
		return 0
	}
	return 1
}
