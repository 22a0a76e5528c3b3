package gpu

import "slices"

// search looks for the best set of cards. Links are told apart by kind only:
// their place among the machine's different links, from the weakest on.
type search struct {
	cards      []Card
	free       []int
	candidates []int
	wish       Wish

	kind   [][]int // of the link between two positions
	like   []int   // see alike
	taken  []int
	inside []int  // of the cards taken, see score
	found  *score // the best set so far, or nil
	spare  *score // what the next is written into
	least  []int  // see next
}

func newSearch(v *Inventory, free, candidates []int, w Wish) *search {
	kind, kinds := v.kinds(free)
	s := &search{
		cards: v.Cards, free: free, candidates: candidates, wish: w, kind: kind,
		taken: make([]int, 0, w.Count), inside: make([]int, kinds), spare: &score{},
	}
	s.like = s.alike()
	return s
}

// kinds numbers the links between free cards, from the weakest on, and returns
// how many different ones there are.
func (v *Inventory) kinds(free []int) (kind [][]int, kinds int) {
	var different []Link
	for i, a := range free {
		for _, b := range free[:i] {
			link := v.Links.between(a, b)
			if at, known := slices.BinarySearchFunc(different, link, Link.Compare); !known {
				different = slices.Insert(different, at, link)
			}
		}
	}
	n := len(v.Cards)
	kind, table := make([][]int, n), make([]int, len(free)*n)
	for i, a := range free {
		kind[a] = table[i*n : (i+1)*n]
		for _, b := range free {
			kind[a][b], _ = slices.BinarySearchFunc(different, v.Links.between(a, b), Link.Compare)
		}
	}
	return kind, len(different)
}

// try goes through the sets of the candidates from the i-th on, beside the cards
// taken. Links never leave a growing set: one whose links are already worse than
// those of the best set cannot become better. Nor can a set with a card but not
// its like before it.
func (s *search) try(i int) {
	if s.found != nil && slices.Compare(s.inside, s.found.inside) > 0 {
		return
	}
	missing := s.wish.Count - len(s.taken)
	if missing == 0 {
		s.note()
		return
	}
	for ; len(s.candidates)-i >= missing; i++ {
		if like := s.like[i]; like >= 0 && !slices.Contains(s.taken, s.candidates[like]) {
			continue
		}
		s.take(s.candidates[i])
		s.try(i + 1)
		s.drop()
	}
}

// note keeps the cards taken if they are the best set so far.
func (s *search) note() {
	s.score(s.spare)
	switch {
	case s.found == nil:
		s.found, s.spare = s.spare, &score{}
	case s.spare.compare(s.found) < 0:
		s.found, s.spare = s.spare, s.found
	}
}

func (s *search) take(card int) {
	for _, c := range s.taken {
		s.inside[s.kind[c][card]]++
	}
	s.taken = append(s.taken, card)
}

// drop undoes the last take.
func (s *search) drop() {
	last := len(s.taken) - 1
	card := s.taken[last]
	s.taken = s.taken[:last]
	for _, c := range s.taken {
		s.inside[s.kind[c][card]]--
	}
}
