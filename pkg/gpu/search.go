package gpu

import (
	"slices"
)

// search finds the best set of GPUs. It represents a link by its kind: the index
// among the machine's distinct links, from the weakest to the strongest.
type search struct {
	gpus       []GPU
	free       []int
	candidates []int
	wish       Wish

	kind   [][]int // of the link between two positions
	like   []int   // see equivalents
	chosen []int
	inside []int  // links between the chosen GPUs, see score
	found  *score // the best set so far, or nil
	spare  *score // reused for the next one
	least  []int  // reused by next
}

func newSearch(inventory *Inventory, free, candidates []int, w Wish) *search {
	kind, kinds := inventory.kinds(free)
	s := &search{
		gpus: inventory.GPUs, free: free, candidates: candidates, wish: w, kind: kind,
		chosen: make([]int, 0, w.Count), inside: make([]int, kinds), spare: &score{},
	}
	s.like = s.equivalents()
	return s
}

// kinds numbers the links between free GPUs from the weakest to the strongest, and
// returns how many distinct ones there are.
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
	n := len(v.GPUs)
	kind, table := make([][]int, n), make([]int, len(free)*n)
	for i, a := range free {
		kind[a] = table[i*n : (i+1)*n]
		for _, b := range free {
			kind[a][b], _ = slices.BinarySearchFunc(different, v.Links.between(a, b), Link.Compare)
		}
	}
	return kind, len(different)
}

// searchFrom tries all sets of the chosen GPUs and candidates from the i-th on
// (branch and bound). Links are only ever added to a set, so a set whose links are
// already worse than those of the best one is cut off. A GPU is only tried with
// the equivalent candidate before it.
func (s *search) searchFrom(i int) {
	if s.found != nil && slices.Compare(s.inside, s.found.inside) > 0 {
		return
	}
	missing := s.wish.Count - len(s.chosen)
	if missing == 0 {
		s.record()
		return
	}
	for ; len(s.candidates)-i >= missing; i++ {
		if like := s.like[i]; like >= 0 && !slices.Contains(s.chosen, s.candidates[like]) {
			continue
		}
		s.add(s.candidates[i])
		s.searchFrom(i + 1)
		s.remove()
	}
}

// record keeps the chosen GPUs if they are the best set so far.
func (s *search) record() {
	s.score(s.spare)
	switch {
	case s.found == nil:
		s.found, s.spare = s.spare, &score{}
	case s.spare.compare(s.found) < 0:
		s.found, s.spare = s.spare, s.found
	}
}

func (s *search) add(gpu int) {
	for _, c := range s.chosen {
		s.inside[s.kind[c][gpu]]++
	}
	s.chosen = append(s.chosen, gpu)
}

// remove undoes the last add.
func (s *search) remove() {
	last := len(s.chosen) - 1
	gpu := s.chosen[last]
	s.chosen = s.chosen[:last]
	for _, c := range s.chosen {
		s.inside[s.kind[c][gpu]]--
	}
}

// equivalents returns, for each candidate, the index of the last equivalent one
// before it, or -1. Two GPUs are equivalent if they have the same links to all
// others, the same NUMA node and the same distance. It does not matter which of
// them are chosen, so the first ones are. On a machine with sixteen GPUs behind one
// switch, on two NUMA nodes, nine sets of eight remain. O(candidates² · free).
func (s *search) equivalents() []int {
	last := make([]int, len(s.candidates))
	for i := range s.candidates {
		last[i] = -1
		for j := i - 1; j >= 0 && last[i] < 0; j-- {
			if s.equivalent(s.candidates[i], s.candidates[j]) {
				last[i] = j
			}
		}
	}
	return last
}

func (s *search) equivalent(a, b int) bool {
	if s.gpus[a].NUMA != s.gpus[b].NUMA || s.near(a) != s.near(b) {
		return false
	}
	for _, c := range s.free {
		if c != a && c != b && s.kind[a][c] != s.kind[b][c] {
			return false
		}
	}
	return true
}

// near returns the distance of a GPU by the request.
func (s *search) near(gpu int) int {
	if s.wish.Near == nil {
		return 0
	}
	return s.wish.Near(gpu)
}

// grow tries one set for each candidate: it starts with that GPU and repeatedly
// adds the one with the best links to those chosen. Its good result lets
// searchFrom cut off more sets.
func (s *search) grow() {
	for _, first := range s.candidates {
		s.add(first)
		for len(s.chosen) < s.wish.Count {
			s.add(s.next())
		}
		s.record()
		for range s.wish.Count {
			s.remove()
		}
	}
}

// next returns the candidate that adds the best links to the chosen GPUs; the
// first of equal ones.
func (s *search) next() int {
	best := -1
	for _, candidate := range s.candidates {
		if slices.Contains(s.chosen, candidate) {
			continue
		}
		s.add(candidate)
		if best < 0 || slices.Compare(s.inside, s.least) < 0 {
			best, s.least = candidate, append(s.least[:0], s.inside...)
		}
		s.remove()
	}
	return best
}
