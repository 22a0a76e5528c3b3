package bucket

import "slices"

// selection keeps the first by policy, as many as it has room for, of the nodes that it is offered in whatever order.
//
// O(1) per node that does not get in, O(n) per node that does.
type selection struct {
	ask *asking
	walk
	room []*entry // its length is n; the first ones are kept
	kept int
	seen int // of those that fit; Random counts them
}

// rare offers the entries at and below b that cover the request, but for blocks where all come behind what is kept.
func (s *selection) rare(b *block) {
	for k := range b.n {
		i := k
		if s.ask.Policy == LeastFit {
			i = b.n - 1 - k
		}
		switch {
		case !s.sees(b, i):
		case b.kids == nil:
			s.offer(b.items[i])
		case s.kept < len(s.room) || !s.ask.behind(&b.boxes[i], s.room[s.kept-1]):
			s.rare(b.kids.at[i])
		}
	}
}

func (s *selection) offer(e *entry) {
	if s.ask.Policy == Random {
		s.draw(e)
		return
	}
	i := s.kept
	for i > 0 && s.ask.compare(e, s.room[i-1]) < 0 {
		i--
	}
	if i == len(s.room) || i > 0 && s.room[i-1] == e || !s.ask.takes(e) {
		return
	}
	copy(s.room[i+1:], s.room[i:])
	s.room[i] = e
	s.kept = min(s.kept+1, len(s.room))
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
