package distbucket

// scan finds the best nodes that fit a query. It reads one of the two trees of the view (by
// coordinate, or by name) in the order of the policy, until it has enough nodes. If it reads the
// tree by coordinate, it also takes nodes of the delta, whose newest state is not yet in that tree,
// at their places in the order of the policy. In this example, coordinates are free amounts (the
// granularity θ is 1), and the request is (4,2):
//
//	nodes     (3,1) (3,5) (4,1) (4,2) (4,4) (5,2) (5,5) (6,1) (6,4)
//	LeastFit  (6,4) (5,5) (5,2) (4,4) (4,2)
//	BestFit   (4,2) (4,4) (5,2) (5,5) (6,4)
//
// For the policy LeastFit, a scan reads the tree by coordinate backwards from the end, and for
// BestFit forwards from the start. Nodes with equal coordinates form a leaf bucket. Within a leaf
// bucket, the scan reads the nodes in the order of their names. A scan goes from one item of a page
// to the next one, and skips pages whose maxima (upper bounds of the free amounts below) are too
// small for the request. The iterator of the original DistBuckets (buckets_test.go) has the same
// result, but uses a tree of buckets: on its first level, a bucket has all nodes whose coordinates
// begin with the same number, such as (5,*). This bucket has one bucket below it for each second
// number, such as (5,2).
//
// For the policies FirstFit and NextFit, a scan reads the tree by name, which has no maxima. If
// many nodes fit, it soon finds one. If few nodes fit, it gives up after it has visited scanLimit
// nodes in a row that have too little free.
type scan struct {
	search *search
	matcher
	dst   []*entry // gets the nodes that fit; its length is the number of wanted nodes
	taken int      // number of nodes in dst
	delta []*entry // entries of the delta that cover the request and that the scan has not reached yet, in the order of the policy
}

// scanLimit is the number of consecutive nodes after which a scan by name gives up, if none of them
// has enough free resources. The order of names does not depend on free resources. So without a
// limit, the scan would read nearly all nodes if few of them fit.
const scanLimit = 256

// scan fills dst with nodes that fit, in the order of the policy, and returns their number. It
// returns false if it gave up because few nodes or none fit. The caller must then find the nodes
// with selectAll.
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
	default: // search the tree by name, which has no maxima (upper bounds of free amounts); before that, check the maxima in the root of the tree by coordinate, which often show that no node fits
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

// full reports whether dst has as many nodes as are wanted.
func (s *scan) full() bool { return s.taken == len(s.dst) }

// takeInOrder adds the entry e of the tree to dst. Before this, it adds those entries of s.delta
// (newest updates, which are not yet in the tree) that come before e in the order of the policy.
func (s *scan) takeInOrder(e *entry) {
	for len(s.delta) > 0 && s.search.compare(s.delta[0], e) < 0 {
		s.takeDelta()
	}
	s.take(e)
}

// takeDelta removes the first entry of s.delta, and passes it to the method `take`.
func (s *scan) takeDelta() {
	s.take(s.delta[0])
	s.delta = s.delta[1:]
}

// take appends the entry e to dst if Query.Accept accepts it and dst has room. The free amounts of
// e must cover the request.
func (s *scan) take(e *entry) {
	if s.full() {
		return
	}
	if s.search.Accept == nil || s.search.Accept(&e.Node) {
		s.dst[s.taken] = e
		s.taken++
	}
}

// leastFit appends to dst the nodes that fit, in the order of the policy LeastFit. It reads the
// leaf buckets (nodes with equal coordinates) from the last to the first, and the entries of each
// leaf bucket in the order of their names.
func (s *scan) leastFit() {
	t := &s.search.view.byCoord
	it := t.end()
	for !s.full() {
		e := s.previous(&it)
		if e == nil {
			return
		}
		if it.atLeafStart() {
			s.takeInOrder(e) // e is the first entry of its leaf bucket, and the only one with enough free resources: the method `previous` has already read all others, because it reads the bucket from its end
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekStart(t)
	}
}

// bestFit appends to dst the nodes that fit, in the order of the policy BestFit. It reads the leaf
// buckets (nodes with equal coordinates) from the first to the last, and the entries of each leaf
// bucket in the order of their names.
func (s *scan) bestFit() {
	t := &s.search.view.byCoord
	it := t.start()
	for !s.full() {
		e := s.next(&it, maxKey)
		if e == nil {
			return
		}
		if it.atLeafEnd() {
			s.takeInOrder(e) // e is the last entry of its leaf bucket, and the only one with enough free resources: the method `next` has already read all others, because it reads the bucket from its start
			continue
		}
		leaf := leafRange(e)
		s.scanLeaf(t, leaf)
		it = leaf.seekEnd(t)
	}
}

// scanLeaf appends to dst those nodes of a leaf bucket that fit. First it appends those whose names
// come after the start of the search (see search.start), then the others.
func (s *scan) scanLeaf(t *tree, leaf keyRange) {
	from := s.search.start()
	s.scanLeafUpTo(leaf.seekAfterLabel(t, from), leaf, maxKey)
	if from != noLabel {
		s.scanLeafUpTo(leaf.seekStart(t), leaf, from)
	}
}

// scanNames appends to dst the nodes that fit, in the order of their names. First it appends those
// whose names come after the start of the search (see search.start), then the others.
func (s *scan) scanNames() {
	t, from := &s.search.view.byName, s.search.start()
	s.scanNamesUpTo(t.seek(from, func(*page, int) bool { return false }), maxKey)
	if from != noLabel {
		s.scanNamesUpTo(t.start(), from)
	}
}

// scanNamesUpTo visits the nodes in the tree by name from the iterator's position up to the given
// label (an integer that stands for a name), and appends to dst those that fit. It visits each of
// these nodes, because the tree by name has no maxima (upper bounds of free amounts), by which it
// could skip pages.
func (s *scan) scanNamesUpTo(it iterator, label key) {
	var all matcher // matches all entries of the tree by name, because this tree has no free amounts; the loop reads the free amounts of each node from the view's entry of the node
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

// scanLeafUpTo searches a leaf bucket from the iterator's position up to the given label (an integer
// that stands for a name), and appends to dst the nodes that fit.
func (s *scan) scanLeafUpTo(it iterator, leaf keyRange, label key) {
	for !s.full() {
		e := s.next(&it, leaf.last)
		if e == nil || !leaf.contains(e) || e.label > label {
			return
		}
		s.takeInOrder(e)
	}
}
