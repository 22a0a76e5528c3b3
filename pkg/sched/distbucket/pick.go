package distbucket

// Pick returns up to n nodes that really fit, the best by policy first; none at all if none fits.
//
// For LeastFit and BestFit these are the nodes that one gets by taking, leaf after leaf as Leaves yields them, the nodes that fit in order of
// their names.
func (v View) Pick(q Query, n int) []*Node { return v.AppendPick(nil, q, n) }

// AppendPick is Pick into a slice that the caller owns.
// Accept may be asked about a node more than once.
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
	if a.Candidates != nil {
		return a.choose(room)
	}
	n, ok := 0, false
	if a.Policy == Random {
		n, ok = a.draw(room)
	} else {
		n, ok = a.stroll(room)
	}
	if !ok {
		n = a.gather(room)
	}
	return n
}

// walk returns a search for what is requested.
func (a *asking) walk() walk {
	return walk{want: a.Request, code: a.code, recent: a.view.recent}
}

// gather takes the first by policy of all nodes that fit: for who has seen that they are few.
func (a *asking) gather(room []*entry) int {
	s := selection{ask: a, room: room}
	var some [backlog]*entry
	return s.fill(func() {
		w, c := a.walk(), a.view.byX.begin()
		for e := w.next(&c, utmost); e != nil; e = w.next(&c, utmost) {
			s.offer(e)
		}
		for _, e := range a.news(some[:0]) {
			s.offer(e)
		}
	})
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
