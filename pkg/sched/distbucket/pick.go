package distbucket

import (
	"slices"
)

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

// choose takes the first by policy of the candidates. O(|candidates|).
func (a *asking) choose(room []*entry) int {
	s := selection{ask: a, room: room}
	return s.fill(func() {
		for _, e := range a.among {
			s.offer(e)
		}
	})
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

// draws is how often a node is drawn in the hope that it fits.
const draws = 64

// draw draws nodes until enough of them fit: as long as that works, each that fits is as likely as the other. It says whether it worked.
func (a *asking) draw(room []*entry) (int, bool) {
	t, taken := &a.view.byX, 0
	for range draws {
		e := a.view.recent.newest(t.atRank(a.Rand.IntN(t.size())))
		if !slices.Contains(room[:taken], e) && a.takes(e) {
			room[taken] = e
			taken++
		}
		if taken == len(room) {
			return taken, true
		}
	}
	return 0, false
}

// selection keeps the first by policy, as many as it has room for, of the nodes that it is offered in whatever order.
//
// O(1) per node that does not get in, O(n) per node that does.
type selection struct {
	ask   *asking
	room  []*entry // its length is n; the first ones are kept
	kept  int
	seen  int    // of those that fit; Random counts them
	blind bool   // Query.Accept is not asked yet
	after *entry // what does not come behind it is left out; nil for nothing
}

// fill keeps nodes that Accept accepts of those that offer offers, and returns their number. Accept costs many times what a look at a node
// does, so it is asked about the first by policy only, and about more if it turns some of them down.
func (s *selection) fill(offer func()) int {
	s.blind = s.ask.Accept != nil && s.ask.Policy != Random
	offer()
	if !s.blind || s.kept == 0 {
		return s.kept
	}
	more := s.kept == len(s.room)
	s.blind, s.after = false, s.room[s.kept-1]
	if s.judge(); more && s.kept < len(s.room) {
		offer()
	}
	return s.kept
}

// judge drops what Accept turns down.
func (s *selection) judge() {
	all := s.room[:s.kept]
	s.kept = 0
	for _, e := range all {
		if s.ask.Accept(&e.Node) {
			s.room[s.kept] = e
			s.kept++
		}
	}
}

func (s *selection) offer(e *entry) {
	if s.ask.Policy == Random {
		s.draw(e)
		return
	}
	if s.after != nil && s.ask.compare(e, s.after) <= 0 {
		return
	}
	i := s.kept
	for i > 0 && s.ask.compare(e, s.room[i-1]) < 0 {
		i--
	}
	if i == len(s.room) || i > 0 && s.room[i-1] == e || !s.suits(e) {
		return
	}
	copy(s.room[i+1:], s.room[i:])
	s.room[i] = e
	s.kept = min(s.kept+1, len(s.room))
}

func (s *selection) suits(e *entry) bool {
	if s.blind {
		return e.Free.Covers(s.ask.Request)
	}
	return s.ask.takes(e)
}

// draw keeps any n of the nodes that fit, each with the same probability (a reservoir).
func (s *selection) draw(e *entry) {
	if slices.Contains(s.room[:s.kept], e) || !s.ask.takes(e) {
		return
	}
	s.seen++
	if s.kept < len(s.room) {
		s.room[s.kept] = e
		s.kept++
	} else if i := s.ask.Rand.IntN(s.seen); i < s.kept {
		s.room[i] = e
	}
}
