package filter

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
)

// anyhow yields one way to distribute a container as the system likes: on the
// pod's own CPUs first, then on those that only complete its cores, and the rest
// on as few NUMA nodes as can be, in an order that the pod's seed draws. One way
// is enough: no other lets the pod hold less.
func (s *seating) anyhow(c int) iter.Seq[counts] {
	return func(yield func(counts) bool) {
		rooms, rest := s.rooms(c), s.pod.Exclusive[c].CPUs
		n := make(counts, len(rooms))
		give := func(to, k int) {
			k = max(0, min(k, rest))
			n[to] += k
			rest -= k
		}
		for i, r := range rooms {
			give(i, r.idle)
		}
		for i, r := range rooms {
			give(i, r.loose)
		}
		for _, r := range s.roomiest(rooms, rest, uint64(c)) {
			give(r.node, r.free-r.loose)
		}
		if rest == 0 {
			yield(n)
		}
	}
}

// roomiest sorts rooms by how much of the rest they could give, the most first,
// equals in an order that the pod's seed draws.
func (s *seating) roomiest(rooms []room, rest int, draw uint64) []room {
	r := rand.New(rand.NewPCG(s.pod.Seed, draw))
	r.Shuffle(len(rooms), func(i, j int) { rooms[i], rooms[j] = rooms[j], rooms[i] })
	slices.SortStableFunc(rooms, func(a, b room) int {
		return cmp.Compare(min(rest, b.free-b.loose), min(rest, a.free-a.loose))
	})
	return rooms
}
