package bucket

// lookup is how many items of a block one looks at in the time of a look at a node by rank.
const lookup = 8

// stroll is a walk in the policy's order that takes what it finds.
type stroll struct {
	ask *asking
	walk
	patience int      // what is left to look at after each find
	room     []*entry // the first ones are taken
	taken    int
	news     []*entry // what the trees do not know, in the policy's order
}

func (s *stroll) full() bool { return s.taken == len(s.room) }

// meet takes a node that the tree has next, and before it the news that come first.
func (s *stroll) meet(e *entry) {
	s.left = s.patience
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
			s.rest()
			return
		}
		leaf := placeOf(e.x)
		s.leaf(t, leaf)
		c = leaf.begin(t)
	}
}

// bestFit goes up through the coordinates, and through the names within a leaf.
func (s *stroll) bestFit() {
	t := &s.ask.view.byX
	c := t.begin()
	for !s.full() {
		e := s.next(&c, ^key(0))
		if e == nil {
			s.rest()
			return
		}
		leaf := placeOf(e.x)
		s.leaf(t, leaf)
		c = leaf.end(t)
	}
}

// rest takes the news that come behind all that the tree has.
func (s *stroll) rest() {
	for len(s.news) > 0 && s.left >= 0 {
		s.takeNews()
	}
}

// leaf takes what fits in a leaf of the tree by coordinate.
func (s *stroll) leaf(t *tree, leaf place) {
	from := s.ask.start()
	s.through(leaf.behind(t, from), leaf, "")
	if from != "" {
		s.through(leaf.begin(t), leaf, from)
	}
}

// through takes what fits in a leaf from the cursor on, up to the name to, or to the end for none.
func (s *stroll) through(c cursor, leaf place, to string) {
	for !s.full() {
		e := s.next(&c, leaf.last)
		if e == nil || compareX(e.x, leaf.x) != 0 || to != "" && e.Name > to {
			return
		}
		s.meet(e)
	}
}

// byName goes up through the names, round from the one to start behind.
func (s *stroll) byName() {
	t, start := &s.ask.view.byName, 0
	if from := s.ask.start(); from != "" {
		start = t.rank(0, func(e *entry) bool { return e.Name > from })
	}
	for i := range t.size() {
		if s.left -= lookup; s.full() || s.left < 0 {
			return
		}
		if e := s.recent.newest(s.ask.view.byZ.get(t.at((start + i) % t.size()))); e.Free.Covers(s.want) {
			s.left = s.patience
			s.take(e)
		}
	}
}
