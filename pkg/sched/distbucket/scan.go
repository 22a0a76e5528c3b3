package distbucket

// stroll is a walk in the policy's order that takes what it finds.
type stroll struct {
	ask *asking
	walk
	room  []*entry // the first ones are taken
	taken int
	news  []*entry // what the trees do not know, in the policy's order
}

// patience is how many nodes a stroll by name looks at in vain before it gives up: names say nothing of what is free.
const patience = 256

// stroll takes nodes in the policy's order. It says whether it came to the end.
func (a *asking) stroll(room []*entry) (int, bool) {
	var some [backlog]*entry
	s := stroll{ask: a, walk: a.walk(), room: room}
	if a.Policy == LeastFit || a.Policy == BestFit {
		s.news = a.news(some[:0])
	}
	switch a.Policy {
	case LeastFit:
		s.leastFit()
	case BestFit:
		s.bestFit()
	default:
		if !s.hopes(&a.view.byX) {
			return 0, false
		}
		s.limit = s.looks + patience
		s.names()
	}
	if s.tired() && !s.full() {
		return 0, false
	}
	for len(s.news) > 0 {
		s.takeNews()
	}
	return s.taken, true
}

func (s *stroll) full() bool { return s.taken == len(s.room) }

// meet takes a node that the tree has next, and before it the news that come first.
func (s *stroll) meet(e *entry) {
	for len(s.news) > 0 && s.ask.compare(s.news[0], e) < 0 {
		s.takeNews()
	}
	s.take(e)
}

func (s *stroll) takeNews() {
	s.take(s.news[0])
	s.news = s.news[1:]
}

// take takes a node that covers the request, if the query accepts it.
func (s *stroll) take(e *entry) {
	if s.full() {
		return
	}
	if s.ask.Accept == nil || s.ask.Accept(&e.Node) {
		s.room[s.taken] = e
		s.taken++
	}
}

// leastFit goes down through the coordinates, and up through the names within a leaf.
func (s *stroll) leastFit() {
	t := &s.ask.view.byX
	c := t.end()
	for !s.full() {
		e := s.previous(&c)
		if e == nil {
			return
		}
		if c.beforeLeaf() {
			s.meet(e) // which is the first of its leaf, and none behind it covers
			continue
		}
		leaf := leafOf(e)
		s.leaf(t, leaf)
		c = leaf.begin(t)
	}
}

// bestFit goes up through the coordinates, and through the names within a leaf.
func (s *stroll) bestFit() {
	t := &s.ask.view.byX
	c := t.begin()
	for !s.full() {
		e := s.next(&c, utmost)
		if e == nil {
			return
		}
		if c.behindLeaf() {
			s.meet(e) // which is the last of its leaf, and none before it covers
			continue
		}
		leaf := leafOf(e)
		s.leaf(t, leaf)
		c = leaf.end(t)
	}
}

// leaf takes what fits in a leaf of the tree by coordinate.
func (s *stroll) leaf(t *tree, leaf place) {
	from := s.ask.start()
	s.through(leaf.behind(t, from), leaf, utmost)
	if from != none {
		s.through(leaf.begin(t), leaf, from)
	}
}

// names takes what fits of all nodes, up through their names.
func (s *stroll) names() {
	t, from := &s.ask.view.byName, s.ask.start()
	s.upTo(t.seek(from, func(*page, int) bool { return false }), utmost)
	if from != none {
		s.upTo(t.begin(), from)
	}
}

// upTo takes what fits of all nodes from the cursor on, up to a label.
func (s *stroll) upTo(c iterator, label key) {
	var all walk
	for first := all.next(&c, label); first != nil; first = all.next(&c, label) {
		if s.full() || s.tired() {
			return
		}
		s.looks++
		if e := s.ask.view.entry(first.handle); e.Free.Covers(s.want) {
			s.take(e)
			s.limit = s.looks + patience
		}
	}
}

// through takes what fits in a leaf from the cursor on, up to a label.
func (s *stroll) through(c iterator, leaf place, label key) {
	for !s.full() {
		e := s.next(&c, leaf.last)
		if e == nil || !leaf.has(e) || e.label > label {
			return
		}
		s.meet(e)
	}
}
