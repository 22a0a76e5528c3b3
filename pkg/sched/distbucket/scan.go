package distbucket

// stroll is a walk in the policy's order that takes what it finds.
type scan struct {
	search *search
	matcher
	dst   []*entry // the first ones are taken
	taken int
	delta []*entry // what the trees do not know, in the policy's order
}

// patience is how many nodes a stroll by name looks at in vain before it gives up: names say nothing of what is free.
const scanLimit = 256

// stroll takes nodes in the policy's order. It says whether it came to the end.
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
	default:
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

func (s *scan) full() bool { return s.taken == len(s.dst) }

// meet takes a node that the tree has next, and before it the news that come first.
func (s *scan) takeInOrder(e *entry) {
	for len(s.delta) > 0 && s.search.compare(s.delta[0], e) < 0 {
		s.takeDelta()
	}
	s.take(e)
}

func (s *scan) takeDelta() {
	s.take(s.delta[0])
	s.delta = s.delta[1:]
}

// take takes a node that covers the request, if the query accepts it.
func (s *scan) take(e *entry) {
	if s.full() {
		return
	}
	if s.search.Accept == nil || s.search.Accept(&e.Node) {
		s.dst[s.taken] = e
		s.taken++
	}
}

// leastFit goes down through the coordinates, and up through the names within a leaf.
func (s *scan) leastFit() {
	t := &s.search.view.byCoord
	it := t.end()
	for !s.full() {
		e := s.previous(&it)
		if e == nil {
			return
		}
		if it.atLeafStart() {
			s.takeInOrder(e) // which is the first of its leaf, and none behind it covers
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekStart(t)
	}
}

// bestFit goes up through the coordinates, and through the names within a leaf.
func (s *scan) bestFit() {
	t := &s.search.view.byCoord
	it := t.start()
	for !s.full() {
		e := s.next(&it, maxKey)
		if e == nil {
			return
		}
		if it.atLeafEnd() {
			s.takeInOrder(e) // which is the last of its leaf, and none before it covers
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekEnd(t)
	}
}

// leaf takes what fits in a leaf of the tree by coordinate.
func (s *scan) scanLeaf(t *tree, leaf keyRange) {
	from := s.search.start()
	s.scanLeafUpTo(leaf.seekAfterLabel(t, from), leaf, maxKey)
	if from != noLabel {
		s.scanLeafUpTo(leaf.seekStart(t), leaf, from)
	}
}

// names takes what fits of all nodes, up through their names.
func (s *scan) scanNames() {
	t, from := &s.search.view.byName, s.search.start()
	s.scanNamesUpTo(t.seek(from, func(*page, int) bool { return false }), maxKey)
	if from != noLabel {
		s.scanNamesUpTo(t.start(), from)
	}
}

// upTo takes what fits of all nodes from the cursor on, up to a label.
func (s *scan) scanNamesUpTo(it iterator, label key) {
	var all matcher
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

// through takes what fits in a leaf from the cursor on, up to a label.
func (s *scan) scanLeafUpTo(it iterator, leaf keyRange, label key) {
	for !s.full() {
		e := s.next(&it, leaf.last)
		if e == nil || !leaf.contains(e) || e.label > label {
			return
		}
		s.takeInOrder(e)
	}
}
