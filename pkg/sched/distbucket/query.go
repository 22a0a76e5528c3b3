package distbucket

import (
	"cmp"
	"fmt"
	"math/rand/v2"
)

// Query is a search for nodes for one task.
type Query struct {
	Request    Vector           // a node fits if it covers this; one amount per dimension
	Policy     Policy           // the order of the nodes that fit
	Candidates []string         // restricts the search to these names; nil allows all nodes, empty none
	Accept     func(*Node) bool // decides last about a node that fits; nil accepts all
	After      Cursor           // where names begin, cyclically; NextFit, and LeastFit and BestFit among equals
	Task       string           // whose reservations count as free; see Reserving

	// Rand is the random source of the policy Random. If it is nil, Random is the same as FirstFit.
	// If After is zero, LeastFit and BestFit draw the name to begin with among equals: proposers
	// that search one view then conflict less often than if each began with the smallest name.
	Rand *rand.Rand
}

// Policy is the order in which nodes that fit are returned.
type Policy int

const (
	// LeastFit returns the node with the most free first, comparing dimensions in the index's order. It
	// balances load.
	LeastFit Policy = iota
	// BestFit returns the node with the least free first. It packs.
	BestFit
	// FirstFit returns nodes in the order of their names.
	FirstFit
	// NextFit is FirstFit that begins after Query.After and wraps around.
	NextFit
	// Random returns nodes in random order, each with the same probability.
	Random
)

var policyNames = [...]string{LeastFit: "leastfit", BestFit: "bestfit", FirstFit: "firstfit", NextFit: "nextfit", Random: "random"}

// String returns the name of the policy in configuration files.
func (p Policy) String() string {
	if p < 0 || int(p) >= len(policyNames) {
		return fmt.Sprintf("policy(%d)", int(p))
	}
	return policyNames[p]
}

// ParsePolicy returns the policy of that name. It is the inverse of String.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("policy %q: want one of %v", name, policyNames)
}

// search is a query to a view. It belongs to one goroutine.
type search struct {
	Query
	view       View
	code       code     // of Request
	candidates []*entry // of Query.Candidates, those in the view
	startLabel key      // names up to it come last; valid if startKnown
	startKnown bool
}

// search prepares a query. O(1), and O(log n) for each candidate.
func (v View) search(query Query) search {
	s := search{Query: query, view: v, code: encode(query.Request)}
	if query.Policy == Random && query.Rand == nil {
		s.Policy = FirstFit
	}
	if query.Candidates != nil {
		s.candidates = make([]*entry, 0, len(query.Candidates))
	}
	for _, name := range query.Candidates {
		if e := v.find(name); e != nil {
			s.candidates = append(s.candidates, e)
		}
	}
	return s
}

// start returns the label after which names begin. It is computed on first use: a request that fits
// nowhere does not need it.
func (s *search) start() key {
	if !s.startKnown {
		s.startLabel, s.startKnown = s.chooseStart(), true
	}
	return s.startLabel
}

// chooseStart returns the label from which the policy starts: that of After, that of a random
// node, or noLabel.
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

// accepts reports whether the task can use a node: by exact amounts first, and then by Accept.
func (s *search) accepts(e *entry) bool {
	return e.Free.Covers(s.Request) && (s.Accept == nil || s.Accept(&e.Node))
}

// compare orders entries by policy: by coordinate for LeastFit and BestFit, then cyclically by name from
// start. It is total. Random has no order.
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

// lap returns 0 for names after start, and 1 for those that come after names wrap around.
func (s *search) lap(e *entry) int {
	if e.label > s.start() {
		return 0
	}
	return 1
}

// matcher returns a matcher for the request.
func (s *search) matcher() matcher {
	return matcher{want: s.Request, code: s.code, delta: s.view.delta}
}

// matchingDelta appends the newest entries of the delta that cover the request, in the order of the
// policy. It uses insertion sort, because there are at most deltaSize entries.
func (s *search) matchingDelta(dst []*entry) []*entry {
	for i, u := range s.view.delta {
		if !u.new.Free.Covers(s.Request) || s.view.delta[i+1:].supersedes(u.new) {
			continue
		}
		dst = append(dst, u.new)
		for k := len(dst) - 1; k > 0 && s.compare(dst[k], dst[k-1]) < 0; k-- {
			dst[k], dst[k-1] = dst[k-1], dst[k]
		}
	}
	return dst
}
