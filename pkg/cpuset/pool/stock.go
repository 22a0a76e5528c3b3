package pool

import "github.com/numalet/numalet/pkg/cpuset"

// stock is free CPUs by core, out of which CPUs are taken one after the other.
// It is scratch: made for one container and thrown away.
type stock struct {
	cores []core         // of the layout
	left  [][]cpuset.CPU // of each core, what is free
	taken []cpuset.CPU
}

// stock sorts free CPUs by core. O(CPUs), one allocation for all of them.
func (l *layout) stock(free cpuset.Set) *stock {
	s := &stock{cores: l.cores, left: make([][]cpuset.CPU, len(l.cores))}
	cpus := make([]cpuset.CPU, 0, free.Len())
	for i, c := range l.cores {
		from := len(cpus)
		for _, cpu := range c {
			if free.Has(cpu) {
				cpus = append(cpus, cpu)
			}
		}
		s.left[i] = cpus[from:len(cpus):len(cpus)]
	}
	return s
}

// whole reports whether all of a core is free.
func (s *stock) whole(core int) bool { return len(s.left[core]) == len(s.cores[core]) }

// grab takes the first n free CPUs of a core, or all if they are fewer, and
// returns how many it took.
func (s *stock) grab(core, n int) int {
	n = min(n, len(s.left[core]))
	s.taken = append(s.taken, s.left[core][:n]...)
	s.left[core] = s.left[core][n:]
	return n
}

// tally is what a domain has in stock.
type tally struct {
	free  int // CPUs
	whole int // CPUs in cores that are free as a whole
	width int // CPUs of the widest core
}

// tally counts a domain's free CPUs. O(cores of d).
func (d *domain) tally(s *stock) tally {
	t := tally{width: d.width}
	for i := d.first; i < d.end; i++ {
		n := len(s.left[i])
		t.free += n
		if n == len(s.cores[i]) {
			t.whole += n
		}
	}
	return t
}

// wholes returns how many of k CPUs can come as whole cores.
func (t tally) wholes(k int) int { return min(t.whole, k-k%max(1, t.width)) }

// splits returns 1 if k CPUs cannot be had without splitting a core that is
// free as a whole, else 0: the rest beyond whole cores exceeds what lies loose.
func (t tally) splits(k int) int {
	if k-t.wholes(k) > t.free-t.whole {
		return 1
	}
	return 0
}
