package distbucket

// scan collects nodes in the order of the policy. It reads one of the two trees in that order, and
// inserts the nodes of the delta at their places. For example, with θ = 1 and a request of (4,2):
//
//	nodes     (3,1) (3,5) (4,1) (4,2) (4,4) (5,2) (5,5) (6,1) (6,4)
//	LeastFit  (6,4) (5,5) (5,2) (4,4) (4,2)
//	BestFit   (4,2) (4,4) (5,2) (5,5) (6,4)
//
// LeastFit reads the tree by coordinate backwards from the end, BestFit forwards from the start.
// Both read each leaf bucket in the order of names. The iterator of the DistBuckets paper
// (buckets_test.go) descends from bucket to bucket instead, with the same result. Here, a step goes
// to the next item of a page, and the maxima exclude buckets that cannot fit before any of their
// entries is read.
//
// FirstFit and NextFit read the tree by name, which has no maxima. They find a node soon if many
// nodes fit. If few nodes fit, they give up after scanLimit visits without success.
type scan struct {
	search *search
	matcher
	dst   []*entry // results; its length is the number of wanted nodes
	taken int      // number of nodes in dst
	delta []*entry // entries of the delta that are not yet merged, in the order of the policy
}

// scanLimit is how many nodes a scan by name visits without finding one that fits before it gives
// up. The order of names does not depend on free resources, so a scan would read nearly all nodes if
// few of them fit.
const scanLimit = 256

// scan fills dst in the order of the policy. It returns the number of nodes that it found. It
// returns false if it gave up because few nodes fit. Then selectAll has to find them.
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
	default: // by name; but the maxima in the root of the tree by coordinate often show at once that no node fits
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

// takeInOrder adds an entry of the tree to dst. Before it, it adds the entries of the delta that
// come before e in the order of the policy.
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

// take appends an entry whose free amounts cover the request to dst, if Query.Accept accepts it and
// dst has room.
func (s *scan) take(e *entry) {
	if s.full() {
		return
	}
	if s.search.Accept == nil || s.search.Accept(&e.Node) {
		s.dst[s.taken] = e
		s.taken++
	}
}

// leastFit reads the leaf buckets from the last to the first, and the entries of each leaf bucket in
// the order of their names.
func (s *scan) leastFit() {
	t := &s.search.view.byCoord
	it := t.end()
	for !s.full() {
		e := s.previous(&it)
		if e == nil {
			return
		}
		if it.atLeafStart() {
			s.takeInOrder(e) // the first entry of its leaf bucket; previous has read the others, and none of them fits
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekStart(t)
	}
}

// bestFit reads the leaf buckets from the first to the last, and the entries of each leaf bucket in
// the order of their names.
func (s *scan) bestFit() {
	t := &s.search.view.byCoord
	it := t.start()
	for !s.full() {
		e := s.next(&it, maxKey)
		if e == nil {
			return
		}
		if it.atLeafEnd() {
			s.takeInOrder(e) // the last entry of its leaf bucket; next has read the others, and none of them fits
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekEnd(t)
	}
}

// scanLeaf adds the nodes of a leaf bucket that fit to dst: at first those with names behind the
// start of the search, then the others.
func (s *scan) scanLeaf(t *tree, leaf keyRange) {
	from := s.search.start()
	s.scanLeafUpTo(leaf.seekAfterLabel(t, from), leaf, maxKey)
	if from != noLabel {
		s.scanLeafUpTo(leaf.seekStart(t), leaf, from)
	}
}

// scanNames adds the nodes that fit to dst: at first those with names behind the start of the
// search, then the others.
func (s *scan) scanNames() {
	t, from := &s.search.view.byName, s.search.start()
	s.scanNamesUpTo(t.seek(from, func(*page, int) bool { return false }), maxKey)
	if from != noLabel {
		s.scanNamesUpTo(t.start(), from)
	}
}

// scanNamesUpTo adds the nodes that fit to dst, from the iterator's position up to a label. The tree
// by name has no maxima, so the scan visits each node.
func (s *scan) scanNamesUpTo(it iterator, label key) {
	var all matcher // matches all entries, because those of this tree have no amounts
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
