package distbucket

import "slices"

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
