package bucket

import "slices"

// random draws nodes until enough of them fit, or a quarter of its patience is spent: as long as that works, each that fits is as likely as
// the other.
func (s *stroll) random() {
	t := &s.ask.view.byZ
	for range s.patience / 4 {
		if s.full() {
			return
		}
		e := s.recent.newest(t.at(s.ask.Rand.IntN(t.size())))
		if e.Free.Covers(s.want) && !slices.Contains(s.room[:s.taken], e) {
			s.take(e)
		}
	}
	s.left = -1
}
