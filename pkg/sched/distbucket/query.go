package distbucket

import (
	"cmp"
	"fmt"
	"math/rand/v2"
)

// Query is a search for nodes for one task.
type Query struct {
	Request    Vector           // one amount for each dimension; a node fits only if at least this much is free
	Policy     Policy           // the order of the nodes that fit
	Candidates []string         // names of the only nodes that the search may return; nil allows all nodes, an empty slice allows none
	Accept     func(*Node) bool // is called for nodes with enough free resources, and returns false for a node that must not be returned; nil accepts all
	After      Cursor           // the name after which the search begins: nodes with greater names come first, and then the others. With NextFit, all nodes are in this order. With LeastFit and BestFit, this is the order of nodes with equal coordinates. FirstFit and Random ignore the name
	Task       string           // amounts that are reserved for this task count as free; see Reserving

	// Rand is the random source of the policy Random. If it is nil, Random is the same as FirstFit.
	// If Rand is set and After is zero, LeastFit and BestFit begin at a random name within each
	// leaf bucket (nodes with equal coordinates). So it is less likely that several goroutines that
	// search the same view choose the same node.
	Rand *rand.Rand
}

// Policy is the order in which a search returns the nodes that fit.
type Policy int

const (
	// LeastFit returns the node with the most free resources first, and so spreads tasks evenly
	// over the nodes. It compares nodes by their coordinates, which are the free amounts divided by
	// Config.Theta and rounded up: first in the dimension (resource) that comes first in
	// Config.Order, then in the second one, and so on.
	LeastFit Policy = iota
	// BestFit is the opposite of LeastFit: of the nodes that fit, it returns the one with the least
	// free resources first. So it fills nodes one after another.
	BestFit
	// FirstFit returns nodes in the order of their names.
	FirstFit
	// NextFit returns nodes in the order of their names, but begins behind Query.After. After the
	// last name, it continues with the first name.
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

// ParsePolicy returns the policy that has the given name. It accepts the names that String returns.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("policy %q: want one of %v", name, policyNames)
}

// search is one query to one view, and what has been computed for it. Only one goroutine may use
// it.
type search struct {
	Query
	view       View
	code       code     // Request in the compressed form in which pages have free amounts (see the type `code`)
	candidates []*entry // entries of the nodes in Query.Candidates that are in the view
	startLabel key      // nodes with labels (integers in the order of names) up to this one come last; valid if startKnown
	startKnown bool
}

// search prepares a query to the view. It looks up each candidate, which takes O(log n) time per
// candidate for n nodes.
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

// start returns the label (an integer that stands for the name) of the node behind which the search
// begins. The label is computed only when it is first needed, because a search that finds no node
// does not need it.
func (s *search) start() key {
	if !s.startKnown {
		s.startLabel, s.startKnown = s.chooseStart(), true
	}
	return s.startLabel
}

// chooseStart computes the result of the method `start`: the label of the cursor Query.After, the
// label of a random node, or noLabel if the search begins with the first name.
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

// accepts reports whether the node of an entry fits the query. First it compares the free amounts
// with the request, then it calls Query.Accept.
func (s *search) accepts(e *entry) bool {
	return e.Free.Covers(s.Request) && (s.Accept == nil || s.Accept(&e.Node))
}

// compare orders entries by the policy. For LeastFit and BestFit, it compares coordinates first.
// Entries that are equal so far are ordered by name, and the names up to the start of the search
// (see the method `start`) come last. No two nodes are equal in this order. The results of the policy
// Random do not depend on this order.
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

// lap returns 0 for an entry whose name comes after the start of the search (see the method
// `start`), and 1 for any other entry. Entries with lap 0 come first.
func (s *search) lap(e *entry) int {
	if e.label > s.start() {
		return 0
	}
	return 1
}

// matcher returns a matcher with which the tree by coordinate is searched for entries whose free
// amounts are large enough for the request.
func (s *search) matcher() matcher {
	return matcher{want: s.Request, code: s.code, delta: s.view.delta}
}

// matchingDelta appends to dst the nodes in the delta (the newest updates, which are not yet in the
// tree by coordinate) whose free amounts cover the request. It appends the newest entry of each of
// these nodes, in the order of the policy. It uses insertion sort, because there are at most
// deltaSize entries.
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
