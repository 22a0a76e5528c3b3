package pack

import (
	"encoding/binary"
	"slices"
)

// patience is how many demands a search puts somewhere before it gives up.
const patience = 200_000

// search looks for a packing, bin by bin (Korf, "An improved algorithm for
// optimal bin packing", IJCAI 2003, for bins of several sizes). The largest
// demand left goes into a bin of one of the sizes that are left; that bin is
// filled until no demand left fits, for one that still does may always be moved
// there. What a bin leaves empty is lost, so all bins may lose no more than their
// room exceeds the demands. Demands and bins of one size are one and the same,
// and what has once been found hopeless is not tried again.
type search struct {
	demands stock // largest first
	bins    stock // smallest first
	slack   int   // what may still be lost
	steps   int   // demands that may still be put somewhere; negative: given up
	filled  []fill
	failed  map[string]bool
}

// stock is how many there are of each size.
type stock struct{ sizes, left []int }

// fill is one bin's size and the sizes put into it.
type fill struct {
	bin     int
	demands []int
}

func newSearch(bins, demands []int) *search {
	s := &search{steps: patience, failed: map[string]bool{}, demands: newStock(demands), bins: newStock(bins)}
	slices.Reverse(s.demands.sizes)
	slices.Reverse(s.demands.left)
	for _, b := range bins {
		s.slack += b
	}
	for _, d := range demands {
		s.slack -= d
	}
	return s
}

// newStock counts sizes, smallest first.
func newStock(all []int) stock {
	s := stock{sizes: slices.Compact(slices.Sorted(slices.Values(all)))}
	s.left = make([]int, len(s.sizes))
	for _, size := range all {
		i, _ := slices.BinarySearch(s.sizes, size)
		s.left[i]++
	}
	return s
}

// fill reports whether the demands left go into the bins left, and adds how to
// filled.
func (s *search) fill() bool {
	largest := s.next(0, s.demands.sizes[0])
	if largest < 0 {
		return true
	}
	state := s.state()
	if s.failed[state] {
		return false
	}
	for bin, size := range s.bins.sizes {
		if s.bins.left[bin] > 0 && size >= s.demands.sizes[largest] && s.open(bin, largest) {
			return true
		}
	}
	if s.steps >= 0 {
		s.failed[state] = true
	}
	return false
}

// open tries all ways to fill a bin that begin with the largest demand.
func (s *search) open(bin, largest int) bool {
	s.bins.left[bin]--
	s.filled = append(s.filled, fill{bin: s.bins.sizes[bin]})
	s.put(largest)
	if s.complete(s.bins.sizes[bin]-s.demands.sizes[largest], largest) {
		return true
	}
	s.unput(largest)
	s.filled = s.filled[:len(s.filled)-1]
	s.bins.left[bin]++
	return false
}

// complete tries all ways to go on filling the last bin, which has so much room
// left, with demands from that place on; the larger first.
func (s *search) complete(room, from int) bool {
	for d := s.next(from, room); d >= 0 && s.steps >= 0; d = s.next(d+1, room) {
		s.put(d)
		if s.complete(room-s.demands.sizes[d], d) {
			return true
		}
		s.unput(d)
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

func (s *search) put(d int) {
	last := &s.filled[len(s.filled)-1]
	last.demands = append(last.demands, s.demands.sizes[d])
	s.demands.left[d]--
	s.steps--
}

func (s *search) unput(d int) {
	last := &s.filled[len(s.filled)-1]
	last.demands = last.demands[:len(last.demands)-1]
	s.demands.left[d]++
}

// next returns the place, from that one on, of the largest demand left that has
// room; negative without.
func (s *search) next(from, room int) int {
	for d := from; d < len(s.demands.sizes); d++ {
		if s.demands.left[d] > 0 && s.demands.sizes[d] <= room {
			return d
		}
	}
	return -1
}

// state tells what is left.
func (s *search) state() string {
	key := make([]byte, 0, 2*(len(s.bins.left)+len(s.demands.left)))
	for _, left := range [][]int{s.demands.left, s.bins.left} {
		for _, n := range left {
			key = binary.AppendUvarint(key, uint64(n))
		}
	}
	return string(key)
}
