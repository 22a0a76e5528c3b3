package distbucket

// scan collects nodes in the order of the policy. It reads a tree in that order and merges the delta in.
// For a request of (4,2) with θ = 1:
//
//	nodes     (3,1) (3,5) (4,1) (4,2) (4,4) (5,2) (5,5) (6,1) (6,4)
//	LeastFit  (6,4) (5,5) (5,2) (4,4) (4,2)
//	BestFit   (4,2) (4,4) (5,2) (5,5) (6,4)
//
// LeastFit reads the tree by coordinate backwards from the end, BestFit forwards from the start; both
// turn to read each leaf bucket in the order of names. The paper's iterator (buckets_test.go) descends
// from bucket to bucket instead, with the same result; here a step is a step in a page, and maxima skip
// buckets that cannot fit before they are opened.
//
// FirstFit and NextFit read the tree by name, which has no maxima. They find a node at once if
// most nodes fit, and give up soon if few do.
type scan struct {
	search *search
	matcher
	dst   []*entry // its length is the number of nodes wanted
	taken int      // of dst
	delta []*entry // entries of the delta that are not yet merged, in the order of the policy
}

// scanLimit is how many visits a scan by name makes after its last success before it gives up.
// The order of names does not depend on free resources, so a scan would read nearly all nodes
// if few of them fit.
const scanLimit = 256

// scan fills dst in the order of the policy. It returns the number of nodes, and false if it gave up:
// then few nodes fit, and selectAll finds them by maxima.
func (s *search) scan(dst []*entry) (int, bool) {
	var buf [deltaSize]*entry
	sc := scan{search: s, matcher: s.matcher(), dst: dst}
	if s.Policy == LeastFit || s.Policy == BestFit {
		sc.delta = s.matchingDelta(buf[:0])
	}
	switch s.Policy {
	case LeastFit:
		sc.leastFit()
	case BestFit:
		sc.bestFit()
	default: // by name; the maxima in the root of the other tree often show that no node fits
		if !sc.mayMatchAny(&s.view.byCoord) {
			return 0, false
		}
		sc.limit = sc.visits + scanLimit
		sc.scanNames()
	}
	if sc.limitReached() && !sc.full() {
		return 0, false
	}
	for len(sc.delta) > 0 {
		sc.takeDelta()
	}
	return sc.taken, true
}

// full reports whether enough nodes have been found.
func (s *scan) full() bool { return s.taken == len(s.dst) }

// takeInOrder adds the tree's next entry to dst, after the entries of the delta that come
// before it.
func (s *scan) takeInOrder(e *entry) {
	for len(s.delta) > 0 && s.search.compare(s.delta[0], e) < 0 {
		s.takeDelta()
	}
	s.take(e)
}

// takeDelta adds the next entry of the delta to dst.
func (s *scan) takeDelta() {
	s.take(s.delta[0])
	s.delta = s.delta[1:]
}

// take appends an entry that covers the request, if the query accepts it and there is room.
func (s *scan) take(e *entry) {
	if s.full() {
		return
	}
	if s.search.Accept == nil || s.search.Accept(&e.Node) {
		s.dst[s.taken] = e
		s.taken++
	}
}

// leastFit reads leaf buckets from the last to the first, and the entries of each in order of names.
func (s *scan) leastFit() {
	t := &s.search.view.byCoord
	it := t.end()
	for !s.full() {
		e := s.previous(&it)
		if e == nil {
			return
		}
		if it.atLeafStart() {
			s.takeInOrder(e) // first of its leaf bucket; previous has read the others, and none matched
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekStart(t)
	}
}

// bestFit reads leaf buckets from the first to the last, and the entries of each in order of names.
func (s *scan) bestFit() {
	t := &s.search.view.byCoord
	it := t.start()
	for !s.full() {
		e := s.next(&it, maxKey)
		if e == nil {
			return
		}
		if it.atLeafEnd() {
			s.takeInOrder(e) // last of its leaf bucket; next has read the others, and none matched
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekEnd(t)
	}
}

// scanLeaf adds the nodes of a leaf bucket that fit to dst, cyclically by name from the
// query's start.
func (s *scan) scanLeaf(t *tree, leaf keyRange) {
	from := s.search.start()
	s.scanLeafUpTo(leaf.seekAfterLabel(t, from), leaf, maxKey)
	if from != noLabel {
		s.scanLeafUpTo(leaf.seekStart(t), leaf, from)
	}
}

// scanNames adds the nodes that fit to dst, cyclically by name from the query's start.
func (s *scan) scanNames() {
	t, from := &s.search.view.byName, s.search.start()
	s.scanNamesUpTo(t.seek(from, func(*page, int) bool { return false }), maxKey)
	if from != noLabel {
		s.scanNamesUpTo(t.start(), from)
	}
}

// scanNamesUpTo adds the nodes that fit to dst, from the iterator's position up to a label.
// The tree by name has no maxima, so each node is a visit.
func (s *scan) scanNamesUpTo(it iterator, label key) {
	var all matcher // the tree's own entries carry no amounts
	for first := all.next(&it, label); first != nil; first = all.next(&it, label) {
		if s.full() || s.limitReached() {
			return
		}
		s.visits++
		if e := s.search.view.entry(first.handle); e.Free.Covers(s.want) {
			s.take(e)
			s.limit = s.visits + scanLimit
		}
	}
}

// scanLeafUpTo adds the nodes of a leaf bucket that fit to dst, from the iterator's position
// up to a label.
func (s *scan) scanLeafUpTo(it iterator, leaf keyRange, label key) {
	for !s.full() {
		e := s.next(&it, leaf.last)
		if e == nil || !leaf.contains(e) || e.label > label {
			return
		}
		s.takeInOrder(e)
	}
}
