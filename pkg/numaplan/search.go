package numaplan

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/podspec"
)

// rememberAfter is how many choices are tried before the search begins to store states from which
// there is no solution. Most searches end with fewer choices, and need no memory for states.
const rememberAfter = 64

// search is a depth-first search for the numbers of CPUs that each container gets on each NUMA
// node. The numbers must satisfy the pod's policy for every container. On every NUMA node, the free
// CPUs and memory must suffice for all containers that run at the same time.
type search struct {
	Request
	View
	Hooks
	order  []int    // indexes of containers, in the order in which they are placed
	placed []Counts // by container; nil if the container is not placed yet
	few    struct { // storage for the fields `order` and `placed`, to save allocations if there are few containers
		order  [4]int
		placed [4]Counts
	}
	tries int
	limit int                 // the maximum number of tries
	cut   bool                // the limit was reached
	dead  map[string]struct{} // states from which there is no solution
}

func newSearch(request Request, view View, h Hooks) *search {
	s := &search{Request: request, View: view, Hooks: h, limit: request.Effort.most(len(request.Containers))}
	s.order, s.placed = s.few.order[:0], s.few.placed[:]
	if len(request.Containers) > len(s.placed) {
		s.placed = make([]Counts, len(request.Containers))
	}
	s.placed = s.placed[:len(request.Containers)]
	for i := range request.Containers {
		s.order = append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(i, j int) int { return request.before(request.Containers[i], request.Containers[j]) })
	return s
}

// The method `before` compares containers for the order in which the search places them. Containers
// for which the pod names the number of CPUs on each NUMA node (PerNode) come first, because there
// is only one way to place them. The other containers are sorted by descending number of CPUs,
// because large containers are hardest to place. With the policy "random", the other containers
// keep the order in which they start. In this order, the search has to try only one way to place
// each container if no container has PerNode (see search.random).
func (r Request) before(a, b podspec.Container) int {
	switch {
	case a.PerNode != nil && b.PerNode != nil:
		return 0
	case a.PerNode != nil:
		return -1
	case b.PerNode != nil:
		return 1
	case r.Policy == podspec.Random:
		return 0
	}
	return cmp.Compare(b.CPUs, a.CPUs)
}

// place places the containers s.order[i:]. It returns false if that is impossible, or if the search
// has reached its limit.
func (s *search) place(i int) bool {
	if i == len(s.order) {
		return true
	}
	state := s.state(i)
	if s.isDead(state) {
		return false
	}
	c := s.order[i]
	for option := range s.options(c) {
		if s.tries++; s.tries > s.limit {
			s.cut = true
			break
		}
		s.placed[c] = option
		if s.fits() && s.place(i+1) {
			return true
		}
		s.placed[c] = nil
	}
	s.markDead(state)
	return false
}

// placeSparing repeats a failed search with the policy "random". For one NUMA node after another,
// it keeps NUMANode.Spare CPUs of that NUMA node free and searches again, until the pod fits. The
// reason is that the search with this policy may try only one distribution, and this one may leave
// no CPU that can be shared. With the policies "single" and "spread", the search tries all
// distributions anyway.
func (s *search) placeSparing() bool {
	if !s.KeepShared || s.Policy != podspec.Random {
		return false
	}
	view := s.View
	defer func() { s.View = view }()
	for n, on := range view.NUMA {
		if on.Spare == 0 || on.FreeCPUs < on.Spare {
			continue
		}
		s.View.NUMA, s.dead = slices.Clone(view.NUMA), nil
		s.NUMA[n].FreeCPUs -= s.wholeCores(on.Spare)
		s.KeepShared = false
		if s.place(0) {
			return true
		}
	}
	return false
}

// fits reports whether the containers that are placed so far fit together. If they do not, they do
// not fit together with more containers either.
func (s *search) fits() bool {
	shares := !s.KeepShared
	for n := range s.NUMA {
		on := &s.NUMA[n]
		held := s.peak(n)
		if held > 0 && held > on.FreeCPUs || !s.memoryFits(n) {
			return false
		}
		shares = shares || on.Spare > 0 && on.FreeCPUs-s.wholeCores(held) >= on.Spare
	}
	return shares && (s.Allow == nil || s.Allow(s.placed))
}

// The method `on` returns the CPUs of container c on NUMA node n.
func (s *search) on(c, n int) int {
	if s.placed[c] == nil {
		return 0
	}
	return s.placed[c][n]
}

// peak returns the largest number of CPUs that the pod uses on a NUMA node at one time.
func (s *search) peak(n int) int {
	return int(podspec.Peak(s.Containers, func(c int) int64 { return int64(s.on(c, n)) }))
}

// The method `beside` returns the largest number of CPUs that other containers use on a NUMA node
// while container c runs.
func (s *search) beside(c, n int) int {
	return int(besides(s.Containers, c, func(other int) int64 { return int64(s.on(other, n)) }))
}

// besides returns the most that the other containers of a pod use at one time while container c
// runs. The function given as `weight` returns what a container uses, for example a number of CPUs.
// To compute this, the function `besides` gives c a weight that is larger than the weights of all
// other containers together. So the largest sum of weights occurs while c runs, and this sum
// without the weight of c is the result.
func besides(containers []podspec.Container, c int, weight func(int) int64) int64 {
	const heavy = 1 << 60
	return podspec.Peak(containers, func(other int) int64 {
		if other == c {
			return heavy
		}
		return weight(other)
	}) - heavy
}

// wholeCores rounds a number of CPUs up to whole cores if pods do not share cores.
func (v *View) wholeCores(cpus int) int {
	if v.CoreWidth <= 1 {
		return cpus
	}
	return (cpus + v.CoreWidth - 1) / v.CoreWidth * v.CoreWidth
}

// binds reports whether the memory of container c is bound to its NUMA node.
func (s *search) binds(c int) bool {
	return s.Policy == podspec.Single && s.Containers[c].MemoryBytes > 0
}

// memoryFits reports whether the free memory nearest to a NUMA node is sufficient for the
// containers of the pod that bind this memory.
func (s *search) memoryFits(n int) bool {
	if s.Policy != podspec.Single {
		return true
	}
	bound := podspec.Peak(s.Containers, func(c int) int64 { return s.bound(c, n) })
	if bound == 0 {
		return true
	}
	if s.NUMA[n].Near != nil {
		bound = podspec.Peak(s.Containers, func(c int) int64 { return s.boundNear(c, n) })
	}
	return bound <= s.NUMA[n].FreeMemory
}

// bound returns the bytes that container c binds on NUMA node n.
func (s *search) bound(c, n int) int64 {
	if s.on(c, n) == 0 || !s.binds(c) {
		return 0
	}
	return int64(s.Containers[c].MemoryBytes)
}

// boundNear returns the bytes that container c binds on NUMA node n, or on another NUMA node that
// has the same nearest memory as n (NUMANode.Near).
func (s *search) boundNear(c, n int) int64 {
	if s.NUMA[n].Near == nil {
		return s.bound(c, n)
	}
	for _, other := range s.NUMA[n].Near {
		if bytes := s.bound(c, other); bytes > 0 {
			return bytes
		}
	}
	return 0
}

// total returns the largest number of CPUs that the pod uses at one time.
func (s *search) total() int {
	return int(podspec.Peak(s.Containers, func(c int) int64 { return int64(s.Containers[c].CPUs) }))
}

// free returns the number of free CPUs on all NUMA nodes.
func (s *search) free() (sum int) {
	for _, on := range s.NUMA {
		sum += max(0, on.FreeCPUs)
	}
	return sum
}

// state returns a text that identifies the state of the search before the container s.order[i] is
// placed. For each NUMA node, the text has the free resources, and what the pod uses there in each
// phase of its life. If NUMA nodes are interchangeable, states that differ only in the order of the
// NUMA nodes have the same text. The text is "" if the search does not store states.
func (s *search) state(i int) string {
	if s.tries < rememberAfter || s.Allow != nil {
		return ""
	}
	nodes := make([]string, len(s.NUMA))
	for n := range s.NUMA {
		nodes[n] = s.nodeState(n)
	}
	if s.interchangeable() {
		slices.Sort(nodes)
	}
	return string(rune(i)) + strings.Join(nodes, "|")
}

// interchangeable reports whether it makes no difference to the search which NUMA node has which
// free resources. That is so if no container names a NUMA node (PerNode), and no two NUMA nodes
// have the same nearest memory.
func (s *search) interchangeable() bool {
	return !slices.ContainsFunc(s.NUMA, func(n NUMANode) bool { return n.Near != nil }) &&
		!slices.ContainsFunc(s.Containers, func(container podspec.Container) bool { return container.PerNode != nil })
}

func (s *search) nodeState(n int) string {
	on := s.NUMA[n]
	text := binary.AppendVarint(nil, int64(on.FreeCPUs))
	text = binary.AppendVarint(text, on.FreeMemory)
	text = binary.AppendVarint(text, int64(on.Spare))
	var sidecars, apps, memory, appMemory int64
	for c, want := range s.Containers {
		cpus, bytes := int64(s.on(c, n)), s.bound(c, n)
		switch want.Kind {
		case podspec.Init:
			text = binary.AppendVarint(text, sidecars+cpus)
			text = binary.AppendVarint(text, memory+bytes)
		case podspec.Sidecar:
			sidecars, memory = sidecars+cpus, memory+bytes
		case podspec.App:
			apps, appMemory = apps+cpus, appMemory+bytes
		}
	}
	text = binary.AppendVarint(text, sidecars+apps)
	return string(binary.AppendVarint(text, memory+appMemory))
}

func (s *search) isDead(state string) bool {
	_, dead := s.dead[state]
	return dead && state != ""
}

// markDead stores that there is no solution from a state. It stores nothing if the search reached
// its limit before it had tried all choices from this state.
func (s *search) markDead(state string) {
	if state == "" || s.cut {
		return
	}
	if s.dead == nil {
		s.dead = map[string]struct{}{}
	}
	s.dead[state] = struct{}{}
}
