package pool

import "github.com/numalet/numalet/pkg/cpuset"

// stock counts the free CPUs of each core while CPUs are taken for one container. Most steps in
// choosing the CPUs need only these counts and not CPU ids.
type stock struct {
	cores []core // layout.cores
	free  cpuset.Set
	left  []uint8 // by core: number of free CPUs that are not taken yet
	taken []cpuset.CPU
}

// stock returns a stock of the given free CPUs. None of them is taken yet.
func (l *layout) stock(free cpuset.Set) *stock {
	s := &stock{cores: l.cores, free: free, left: make([]uint8, len(l.cores))}
	if free.Empty() {
		return s
	}
	for i, c := range l.cores {
		s.left[i] = uint8(c.count(free))
	}
	return s
}

// whole reports whether all CPUs of a core are free and not taken yet.
func (s *stock) whole(core int) bool { return int(s.left[core]) == len(s.cores[core]) }

// grab takes the first n free CPUs of a core that are not taken yet, or all of these if there are
// fewer. It returns how many it took.
func (s *stock) grab(core, n int) int {
	n = min(n, int(s.left[core]))
	gone := s.cores[core].count(s.free) - int(s.left[core])
	for _, cpu := range s.cores[core] {
		if !s.free.Has(cpu) {
			continue
		}
		if gone--; gone < 0 && gone >= -n {
			s.taken = append(s.taken, cpu)
		}
	}
	s.left[core] -= uint8(n)
	return n
}

// tally has the counts of a domain's free CPUs.
type tally struct {
	free  int // free CPUs
	whole int // free CPUs in entirely free cores
	width int // number of CPUs of the domain's largest core
}

// tally counts a domain's free CPUs.
func (d *domain) tally(s *stock) tally {
	t := tally{width: d.width}
	for i, left := range s.left[d.first:d.end] {
		t.free += int(left)
		if int(left) == len(s.cores[d.first+i]) {
			t.whole += int(left)
		}
	}
	return t
}

// wholes returns how many of k CPUs can be taken as whole cores, which must be entirely free.
func (t tally) wholes(k int) int { return min(t.whole, k-k%max(1, t.width)) }

// splits returns 1 if an entirely free core must be split in order to take k CPUs, and otherwise 0.
// A core is split if only some of its CPUs are taken. As many of the k CPUs as possible are taken as
// whole cores. The remaining ones come from cores that are not entirely free, if these have enough
// free CPUs. Otherwise, an entirely free core must be split.
func (t tally) splits(k int) int {
	if k-t.wholes(k) > t.free-t.whole {
		return 1
	}
	return 0
}
