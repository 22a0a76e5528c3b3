package gpu

import (
	"slices"
)

// search finds the best set of GPUs. It represents a link by its kind, which is a
// number: equal links have the same kind, and a stronger link has a larger one.
type search struct {
	gpus       []GPU
	free       []int
	candidates []int
	wish       Wish

	kind   [][]int // the kind of the link between two GPUs, by their indexes
	like   []int   // the result of the method `equivalents`
	chosen []int
	inside []int  // by kind: number of links between the chosen GPUs, the weakest kind first
	found  *score // the best set so far, or nil
	spare  *score // a score that the method `record` can overwrite
	least  []int  // a buffer of the method `next`, to save allocations
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

// kinds returns the kind of each link between free GPUs, and the number of kinds. Kinds
// are numbered from the weakest link to the strongest.
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

// searchFrom tries all sets that consist of the chosen GPUs and of candidates from the i-th on
// (branch and bound). Adding a GPU to a set only adds links, which never makes the set better by
// criterion 1 of Choose. So searchFrom abandons a set as soon as its links are worse than those of
// the best set so far. Of equivalent candidates, it always takes the earlier ones first: it adds a
// candidate only if the set has all earlier candidates that are equivalent to it. So it does not
// try sets that differ only in equivalent GPUs.
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

// record makes the chosen GPUs the best set so far if they are better than the previous
// best set.
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

// remove undoes the last call of the method `add`.
func (s *search) remove() {
	last := len(s.chosen) - 1
	gpu := s.chosen[last]
	s.chosen = s.chosen[:last]
	for _, c := range s.chosen {
		s.inside[s.kind[c][gpu]]--
	}
}

// equivalents returns, for each candidate, the index of the nearest candidate before it that is
// equivalent to it, or -1 if there is none. Two GPUs are equivalent if they have the same links to
// all other free GPUs, the same NUMA node and the same distance (Wish.Near). It does not matter
// which of them is chosen, so searchFrom need not try both. To choose eight of sixteen GPUs that
// are behind one switch, with eight on each of two NUMA nodes, only nine sets are tried: those with
// zero to eight GPUs of the first NUMA node. The time grows with the square of the number of
// candidates times the number of free GPUs.
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

// The method `near` returns the distance of a GPU (Wish.Near), or 0 if the wish has no distances.
func (s *search) near(gpu int) int {
	if s.wish.Near == nil {
		return 0
	}
	return s.wish.Near(gpu)
}

// grow tries one set for each candidate. It starts the set with that candidate, and repeatedly adds
// the GPU with the best links to the chosen ones. The method is called before searchFrom: the
// better the best set so far is, the more sets searchFrom can abandon.
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

// next returns the candidate with the best links to the chosen GPUs. Candidates that are
// chosen already are left out. If several candidates have equally good links, the result
// is the first of them.
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
