package bucket

import "slices"

// draws is how many nodes Random draws blindly before it enumerates those that fit.
const draws = 64

// random draws nodes until enough of them fit: as long as that works, each that fits is as likely as the other.
func (s *stroll) random() {
	t := &s.ask.view.byZ
	for range draws {
		if s.full() {
			return
		}
		e := t.at(s.ask.Rand.IntN(t.size()))
		if e.Free.Covers(s.want) && !slices.Contains(s.room[:s.taken], e) {
			s.take(e)
		}
	}
	s.left = -1
}
