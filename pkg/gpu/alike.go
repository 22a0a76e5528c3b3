package gpu

// alike returns, for each candidate by its place, the place of the last one
// before it that is its like, or -1: cards that are linked alike to all others,
// on the same NUMA node and equally near. Of such it never matters which are
// taken, so the first are. It leaves nine sets of eight out of a machine of
// sixteen cards behind one switch, on two NUMA nodes. O(candidates² · free).
func (s *search) alike() []int {
	last := make([]int, len(s.candidates))
	for i := range s.candidates {
		last[i] = -1
		for j := i - 1; j >= 0 && last[i] < 0; j-- {
			if s.likes(s.candidates[i], s.candidates[j]) {
				last[i] = j
			}
		}
	}
	return last
}

func (s *search) likes(a, b int) bool {
	if s.cards[a].NUMA != s.cards[b].NUMA || s.near(a) != s.near(b) {
		return false
	}
	for _, c := range s.free {
		if c != a && c != b && s.kind[a][c] != s.kind[b][c] {
			return false
		}
	}
	return true
}

// near returns how far a card is from what the wish names.
func (s *search) near(card int) int {
	if s.wish.Near == nil {
		return 0
	}
	return s.wish.Near(card)
}
