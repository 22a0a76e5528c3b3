package filter

import (
	"iter"

	"github.com/numalet/numalet/pkg/podspec"
)

// room is what one NUMA node has for one container, beside those seated.
type room struct {
	node  int // index
	idle  int // CPUs of the pod's own that it may reuse
	loose int // CPUs that nobody else can have: they complete cores that the pod started
	free  int // CPUs that it can have anew, loose ones among them
}

// fresh returns how many CPUs more the pod would hold for k here.
func (r room) fresh(k int) int { return max(0, k-r.idle) }

// have returns how many CPUs the container can get here.
func (r room) have() int { return r.idle + r.free }

// options yields the ways to distribute a container by its policy, best first.
func (s *seating) options(c int) iter.Seq[counts] {
	want := s.pod.Exclusive[c]
	switch {
	case want.PerNode != nil:
		return s.explicitly(want)
	case s.pod.CPUPolicy == podspec.Spread:
		return s.evenly(c)
	case s.pod.CPUPolicy == podspec.Single:
		return s.together(c)
	}
	return s.anyhow(c)
}

// explicitly yields the counts that the container names. A NUMA node that is
// not here has no room.
func (s *seating) explicitly(want podspec.Container) iter.Seq[counts] {
	return func(yield func(counts) bool) {
		n, sum := make(counts, len(s.node.NUMA)), 0
		for i := range s.node.NUMA {
			n[i] = want.PerNode[s.node.NUMA[i].ID]
			sum += n[i]
		}
		if sum == want.CPUs {
			yield(n)
		}
	}
}

// rooms returns what each NUMA node has for container c.
func (s *seating) rooms(c int) []room {
	rooms := make([]room, len(s.node.NUMA))
	for n := range rooms {
		held := s.peak(n)
		rooms[n] = room{
			node: n, idle: held - s.beside(c, n), loose: s.node.Cores(held) - held,
			free: max(0, s.node.NUMA[n].FreeCPUs) - held,
		}
	}
	return rooms
}

// beside returns the most CPUs that containers hold on a NUMA node while
// container c runs: a weight that outweighs all others makes its time the peak.
func (s *seating) beside(c, n int) int {
	const heavy = 1 << 40
	return int(podspec.Peak(s.pod.Exclusive, func(other int) int64 {
		if other == c {
			return heavy
		}
		return int64(s.on(other, n))
	}) - heavy)
}
