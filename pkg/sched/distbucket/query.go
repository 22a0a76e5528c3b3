package distbucket

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Query is what a task asks of a view.
type Query struct {
	Request    Vector           // a node fits if it has this much free in every dimension; an amount for each
	Policy     Policy           // which of those that fit comes first
	Candidates []string         // the nodes that may be taken; nil stands for all of them, empty for none
	Accept     func(*Node) bool // has the last word on a node that fits; nil accepts
	After      Cursor           // NextFit, and LeastFit and BestFit within a leaf, go on behind it, round and round
	Task       string           // who asks, for nodes that hold a reservation; see Reserving

	// Rand is what Random draws from; without it Random is FirstFit. LeastFit and BestFit draw a name from it where After is the zero value: proposers
	// that ask the same view then get in each other's way less than if each began with the smallest name.
	Rand *rand.Rand
}

// Policy says which of the nodes that fit comes first.
type Policy int

const (
	// LeastFit takes the most free first, dimensions compared in the index's order: it balances load.
	LeastFit Policy = iota
	// BestFit takes the least free that fits first, compared likewise: it packs.
	BestFit
	// FirstFit takes nodes in order of their names, whatever is free on them.
	FirstFit
	// NextFit is FirstFit that goes on behind Query.After, round and round.
	NextFit
	// Random takes any node that fits, each as likely as the other.
	Random
)

var policyNames = [...]string{LeastFit: "leastfit", BestFit: "bestfit", FirstFit: "firstfit", NextFit: "nextfit", Random: "random"}

// String returns the name by which users ask for the policy.
func (p Policy) String() string {
	if p < 0 || int(p) >= len(policyNames) {
		return fmt.Sprintf("policy(%d)", int(p))
	}
	return policyNames[p]
}

// ParsePolicy is the inverse of String.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("policy %q: want one of %v", name, policyNames)
}

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
	case a.Policy == NextFit || a.After != (Cursor{}) || a.Rand == nil:
		return a.view.labelOf(a.After)
	case a.Candidates == nil && a.view.Len() > 0:
		return a.view.byName.atRank(a.Rand.IntN(a.view.Len())).label
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
