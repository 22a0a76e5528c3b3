package distbucket

import (
	"cmp"
	"fmt"
	"math/rand/v2"
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
type search struct {
	Query
	view       View
	code       code     // of the request
	candidates []*entry // the candidates, if the query names some
	startLabel key      // labels that are not greater come last: of all with NextFit, of a leaf's with LeastFit and BestFit
	startKnown bool     // from is known; where nothing fits it need not be
}

func (v View) search(q Query) search {
	s := search{Query: q, view: v, code: encode(q.Request)}
	if q.Policy == Random && q.Rand == nil {
		s.Policy = FirstFit
	}
	if q.Candidates != nil {
		s.candidates = make([]*entry, 0, len(q.Candidates))
	}
	for _, name := range q.Candidates {
		if e := v.find(name); e != nil {
			s.candidates = append(s.candidates, e)
		}
	}
	return s
}

// start returns the label behind which names begin, drawn when it is first needed.
func (s *search) start() key {
	if !s.startKnown {
		s.startLabel, s.startKnown = s.chooseStart(), true
	}
	return s.startLabel
}

func (s *search) chooseStart() key {
	switch {
	case s.Policy == FirstFit || s.Policy == Random:
		return noLabel
	case s.Policy == NextFit || s.After != (Cursor{}) || s.Rand == nil:
		return s.view.labelOf(s.After)
	case s.Candidates == nil && s.view.Len() > 0:
		return s.view.byName.atRank(s.Rand.IntN(s.view.Len())).label
	case len(s.candidates) > 0:
		return s.candidates[s.Rand.IntN(len(s.candidates))].label
	}
	return noLabel
}

// takes says whether the task can go to a node: exact amounts decide, then Accept.
func (s *search) accepts(e *entry) bool {
	return e.Free.Covers(s.Request) && (s.Accept == nil || s.Accept(&e.Node))
}

// compare orders nodes as the policy does, the first to take first. Random has no order.
func (s *search) compare(e, f *entry) int {
	c := 0
	switch s.Policy {
	case LeastFit:
		c = compareLeaf(f, e)
	case BestFit:
		c = compareLeaf(e, f)
	}
	if c == 0 {
		c = cmp.Compare(s.lap(e), s.lap(f))
	}
	if c == 0 {
		c = compareLabel(e, f)
	}
	return c
}

// lap returns 0 for a node that comes before the names begin anew, and 1 for the others.
func (s *search) lap(e *entry) int {
	if e.label > s.start() {
		return 0
	}
	return 1
}
