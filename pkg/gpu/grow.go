package gpu

import "slices"

// grow tries one set for each candidate: that card, then again and again the one
// that is linked best to those taken. What it finds is a good set, and the
// harder for try to beat.
func (s *search) grow() {
	for _, first := range s.candidates {
		s.take(first)
		for len(s.taken) < s.wish.Count {
			s.take(s.next())
		}
		s.note()
		for range s.wish.Count {
			s.drop()
		}
	}
}

// next returns the candidate that adds the best links to the cards taken; of
// equals the first.
func (s *search) next() int {
	best := -1
	for _, c := range s.candidates {
		if slices.Contains(s.taken, c) {
			continue
		}
		s.take(c)
		if best < 0 || slices.Compare(s.inside, s.least) < 0 {
			best, s.least = c, append(s.least[:0], s.inside...)
		}
		s.drop()
	}
	return best
}
