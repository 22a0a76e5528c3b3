package pack

import (
	"encoding/binary"
	"slices"
)

// maxSteps is the number of assignments of a demand to a bin after which a search is
// given up.
const maxSteps = 200_000

// search searches for a packing of all demands, bin by bin. It is the algorithm of Korf, "An
// improved algorithm for optimal bin packing", IJCAI 2003, extended to bins of several sizes. It
// puts the largest remaining demand into an empty bin, and tries one bin of each remaining size for
// it. Then it fills that bin until no remaining demand fits. It need not try to leave room in the
// bin for another demand: if a packing leaves such room, that demand can be moved there from its
// own bin, and the result is a packing, too.
//
// The slack is the capacity of all bins minus the sum of all demands. In a packing of all demands,
// the unused room of all bins together is exactly the slack. So the search abandons a state as soon
// as the filled bins have more unused room than that. Demands of one size are interchangeable, and
// so are bins of one size. So a state of the search is the numbers of remaining demands and bins of
// each size. A state without a solution is not searched again.
type search struct {
	demands counts // largest first
	bins    counts // smallest first
	slack   int    // how much room may stay unused in the bins that are not filled yet
	steps   int    // how many more assignments are allowed; negative if the search was given up
	filled  []fill
	failed  map[string]bool
}

// counts has the sizes of demands or bins, and in the field `left` how many of each size remain.
type counts struct{ sizes, left []int }

// fill is one filled bin: its size, and the sizes of the demands in it.
type fill struct {
	bin     int
	demands []int
}

func newSearch(bins, demands []int) *search {
	s := &search{steps: maxSteps, failed: map[string]bool{}, demands: newCounts(demands), bins: newCounts(bins)}
	slices.Reverse(s.demands.sizes)
	slices.Reverse(s.demands.left)
	for _, b := range bins {
		s.slack += b
	}
	for _, demand := range demands {
		s.slack -= demand
	}
	return s
}

// newCounts returns how often each size occurs, with the sizes in ascending order.
func newCounts(all []int) counts {
	s := counts{sizes: slices.Compact(slices.Sorted(slices.Values(all)))}
	s.left = make([]int, len(s.sizes))
	for _, size := range all {
		i, _ := slices.BinarySearch(s.sizes, size)
		s.left[i]++
	}
	return s
}

// fill reports whether the remaining demands fit in the remaining bins. If they fit, it
// appends the filled bins to s.filled.
func (s *search) fill() bool {
	largest := s.next(0, s.demands.sizes[0])
	if largest < 0 {
		return true
	}
	key := s.key()
	if s.failed[key] {
		return false
	}
	for bin, size := range s.bins.sizes {
		if s.bins.left[bin] > 0 && size >= s.demands.sizes[largest] && s.open(bin, largest) {
			return true
		}
	}
	if s.steps >= 0 {
		s.failed[key] = true
	}
	return false
}

// open takes a new bin, puts the largest remaining demand into it, and tries all ways to fill the
// rest of the bin. The parameters `bin` and `largest` are the indexes of the sizes of the bin and of
// the demand.
func (s *search) open(bin, largest int) bool {
	s.bins.left[bin]--
	s.filled = append(s.filled, fill{bin: s.bins.sizes[bin]})
	s.add(largest)
	if s.complete(s.bins.sizes[bin]-s.demands.sizes[largest], largest) {
		return true
	}
	s.remove(largest)
	s.filled = s.filled[:len(s.filled)-1]
	s.bins.left[bin]++
	return false
}

// complete tries all ways to put demands into the newest bin until no remaining demand fits there.
// The parameter `room` is how much room the bin still has. For each way, the method also tries to
// fill the remaining bins. It adds the largest demands first, and none that is larger than the
// demand size with the index `from`.
func (s *search) complete(room, from int) bool {
	for d := s.next(from, room); d >= 0 && s.steps >= 0; d = s.next(d+1, room) {
		s.add(d)
		if s.complete(room-s.demands.sizes[d], d) {
			return true
		}
		s.remove(d)
	}
	if s.next(0, room) >= 0 || room > s.slack || s.steps < 0 {
		return false
	}
	s.slack -= room
	if s.fill() {
		return true
	}
	s.slack += room
	return false
}

func (s *search) add(d int) {
	last := &s.filled[len(s.filled)-1]
	last.demands = append(last.demands, s.demands.sizes[d])
	s.demands.left[d]--
	s.steps--
}

func (s *search) remove(d int) {
	last := &s.filled[len(s.filled)-1]
	last.demands = last.demands[:len(last.demands)-1]
	s.demands.left[d]++
}

// next looks for the largest demand that remains and fits in the given room. It returns
// the index of the demand's size, or -1 if no demand fits. It considers only the size
// whose index is given as `from`, and smaller sizes.
func (s *search) next(from, room int) int {
	for d := from; d < len(s.demands.sizes); d++ {
		if s.demands.left[d] > 0 && s.demands.sizes[d] <= room {
			return d
		}
	}
	return -1
}

// key identifies the state of the search: the remaining demands and bins.
func (s *search) key() string {
	key := make([]byte, 0, 2*(len(s.bins.left)+len(s.demands.left)))
	for _, left := range [][]int{s.demands.left, s.bins.left} {
		for _, n := range left {
			key = binary.AppendUvarint(key, uint64(n))
		}
	}
	return string(key)
}

// assign returns the bin of each demand. It converts the solution of the search, which
// has only the sizes of the bins and demands. Of several bins or demands of one size, it
// takes the first ones first.
func (s *search) assign(bins, demands, order []int) []int {
	free := map[int][]int{} // bins by size
	for b, size := range bins {
		free[size] = append(free[size], b)
	}
	waiting := map[int][]int{} // demands by size
	for _, demand := range order {
		waiting[demands[demand]] = append(waiting[demands[demand]], demand)
	}
	bin := make([]int, len(demands))
	for _, f := range s.filled {
		b := free[f.bin][0]
		free[f.bin] = free[f.bin][1:]
		for _, size := range f.demands {
			bin[waiting[size][0]] = b
			waiting[size] = waiting[size][1:]
		}
	}
	return bin
}
