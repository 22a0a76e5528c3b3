package bucket

// patience is how many items a search looks at in vain before another way is tried.
const patience = 256

// Pick returns up to n nodes that really fit, the best by policy first; none at all if none fits.
//
// For LeastFit and BestFit these are the nodes that one gets by taking, leaf after leaf as Leaves yields them, the nodes that fit in order of
// their names.
func (v View) Pick(q Query, n int) []*Node { return v.AppendPick(nil, q, n) }

// AppendPick is Pick into a slice that the caller owns.
//
// Either nodes that fit are frequent, and a walk in the policy's order soon meets them; or they are rare, and the tree byZ, where a block is a
// small box, soon has them all. Which it is shows only in the end, so the two ways are tried in turn, with more patience each time: that takes
// a small multiple of what the better one takes. Accept may be asked about a node more than once.
func (v View) AppendPick(dst []*Node, q Query, n int) []*Node {
	n = min(n, v.Len())
	if n <= 0 {
		return dst
	}
	a := v.ask(q)
	var some [8]*entry
	room := roomFor(n, some[:])
	return appendNodes(dst, room[:a.pick(room)])
}

// roomFor returns n places, of those that there are if they are enough.
func roomFor(n int, some []*entry) []*entry {
	if n <= len(some) {
		return some[:n]
	}
	return make([]*entry, n)
}

func appendNodes(dst []*Node, entries []*entry) []*Node {
	for _, e := range entries {
		dst = append(dst, &e.Node)
	}
	return dst
}

// pick fills room, as far as there are nodes, and returns their number.
func (a *asking) pick(room []*entry) int {
	switch {
	case a.Candidates != nil:
		return a.choose(room)
	case a.Policy != LeastFit && a.Policy != BestFit && a.hopeless():
		return 0
	}
	for left := patience; ; left *= 4 {
		if n, ok := a.stroll(room, left); ok {
			return n
		}
		if n, ok := a.gather(room, left); ok {
			return n
		}
	}
}

// hopeless says whether it takes hardly a look to see that no node has what is requested. A walk by name would not see it.
func (a *asking) hopeless() bool {
	var some [backlog]*entry
	w := a.walk(patience / 4)
	c := a.view.byZ.begin()
	return w.next(&c, ^key(0)) == nil && w.left >= 0 && len(a.news(some[:0])) == 0
}

// walk returns a search for what is requested.
func (a *asking) walk(left int) walk {
	return walk{want: a.Request, code: a.code, recent: a.view.recent, left: left}
}

// stroll takes nodes in the policy's order. It says whether it was left enough to look at.
func (a *asking) stroll(room []*entry, left int) (int, bool) {
	var some [backlog]*entry
	s := stroll{ask: a, walk: a.walk(left), patience: left, room: room, news: a.news(some[:0])}
	switch a.Policy {
	case LeastFit:
		s.leastFit()
	case BestFit:
		s.bestFit()
	case Random:
		s.random()
	default:
		s.byName()
	}
	return s.taken, s.full() || s.left >= 0
}

// gather takes the first by policy of all nodes that fit. It says whether it was left enough to look at.
func (a *asking) gather(room []*entry, left int) (int, bool) {
	s := selection{ask: a, walk: a.walk(left), room: room}
	var some [backlog]*entry
	n := s.fill(func() {
		s.rare(a.view.byZ.root)
		for _, e := range a.news(some[:0]) {
			s.offer(e)
		}
	})
	return n, s.left >= 0
}

// choose takes the first by policy of the candidates. O(|candidates|).
func (a *asking) choose(room []*entry) int {
	s := selection{ask: a, room: room}
	return s.fill(func() {
		for _, e := range a.among {
			s.offer(e)
		}
	})
}
