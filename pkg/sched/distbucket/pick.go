package distbucket

import (
	"slices"
)

// AppendPick is Pick into a slice that the caller owns.
// Accept may be asked about a node more than once.
func (v View) AppendPick(dst []*Node, q Query, n int) []*Node {
	n = min(n, v.Len())
	if n <= 0 {
		return dst
	}
	s := v.search(q)
	var buf [8]*entry
	found := bufferFor(n, buf[:])
	return appendNodes(dst, found[:s.pick(found)])
}

// roomFor returns n places, of those that there are if they are enough.
func bufferFor(n int, buf []*entry) []*entry {
	if n <= len(buf) {
		return buf[:n]
	}
	return make([]*entry, n)
}

func appendNodes(dst []*Node, entries []*entry) []*Node {
	for _, e := range entries {
		dst = append(dst, &e.Node)
	}
	return dst
}

// pick fills room, as far as there are nodes, and returns their number.
func (s *search) pick(dst []*entry) int {
	if s.Candidates != nil {
		return s.selectCandidates(dst)
	}
	n, ok := 0, false
	if s.Policy == Random {
		n, ok = s.sample(dst)
	} else {
		n, ok = s.scan(dst)
	}
	if !ok {
		n = s.selectAll(dst)
	}
	return n
}

// walk returns a search for what is requested.
func (s *search) matcher() matcher {
	return matcher{want: s.Request, code: s.code, delta: s.view.delta}
}

// choose takes the first by policy of the candidates. O(|candidates|).
func (s *search) selectCandidates(dst []*entry) int {
	sel := selection{search: s, dst: dst}
	return sel.fill(func() {
		for _, e := range s.candidates {
			sel.offer(e)
		}
	})
}

// gather takes the first by policy of all nodes that fit: for who has seen that they are few.
func (s *search) selectAll(dst []*entry) int {
	sel := selection{search: s, dst: dst}
	var buf [deltaSize]*entry
	return sel.fill(func() {
		m, it := s.matcher(), s.view.byCoord.start()
		for e := m.next(&it, maxKey); e != nil; e = m.next(&it, maxKey) {
			sel.offer(e)
		}
		for _, e := range s.matchingDelta(buf[:0]) {
			sel.offer(e)
		}
	})
}

// draws is how often a node is drawn in the hope that it fits.
const sampleTries = 64

// draw draws nodes until enough of them fit: as long as that works, each that fits is as likely as the other. It says whether it worked.
func (s *search) sample(dst []*entry) (int, bool) {
	t, taken := &s.view.byCoord, 0
	for range sampleTries {
		e := s.view.delta.newest(t.atRank(s.Rand.IntN(t.size())))
		if !slices.Contains(dst[:taken], e) && s.accepts(e) {
			dst[taken] = e
			taken++
		}
		if taken == len(dst) {
			return taken, true
		}
	}
	return 0, false
}

// selection keeps the first by policy, as many as it has room for, of the nodes that it is offered in whatever order.
//
// O(1) per node that does not get in, O(n) per node that does.
type selection struct {
	search      *search
	dst         []*entry // its length is n; the first ones are kept
	kept        int
	seen        int    // of those that fit; Random counts them
	deferAccept bool   // Query.Accept is not asked yet
	after       *entry // what does not come behind it is left out; nil for nothing
}

// fill keeps nodes that Accept accepts of those that offer offers, and returns their number. Accept costs many times what a look at a node
// does, so it is asked about the first by policy only, and about more if it turns some of them down.
func (s *selection) fill(offer func()) int {
	s.deferAccept = s.search.Accept != nil && s.search.Policy != Random
	offer()
	if !s.deferAccept || s.kept == 0 {
		return s.kept
	}
	more := s.kept == len(s.dst)
	s.deferAccept, s.after = false, s.dst[s.kept-1]
	if s.applyAccept(); more && s.kept < len(s.dst) {
		offer()
	}
	return s.kept
}

// judge drops what Accept turns down.
func (s *selection) applyAccept() {
	all := s.dst[:s.kept]
	s.kept = 0
	for _, e := range all {
		if s.search.Accept(&e.Node) {
			s.dst[s.kept] = e
			s.kept++
		}
	}
}

func (s *selection) offer(e *entry) {
	if s.search.Policy == Random {
		s.offerRandom(e)
		return
	}
	if s.after != nil && s.search.compare(e, s.after) <= 0 {
		return
	}
	i := s.kept
	for i > 0 && s.search.compare(e, s.dst[i-1]) < 0 {
		i--
	}
	if i == len(s.dst) || i > 0 && s.dst[i-1] == e || !s.fits(e) {
		return
	}
	copy(s.dst[i+1:], s.dst[i:])
	s.dst[i] = e
	s.kept = min(s.kept+1, len(s.dst))
}

func (s *selection) fits(e *entry) bool {
	if s.deferAccept {
		return e.Free.Covers(s.search.Request)
	}
	return s.search.accepts(e)
}

// draw keeps any n of the nodes that fit, each with the same probability (a reservoir).
func (s *selection) offerRandom(e *entry) {
	if slices.Contains(s.dst[:s.kept], e) || !s.search.accepts(e) {
		return
	}
	s.seen++
	if s.kept < len(s.dst) {
		s.dst[s.kept] = e
		s.kept++
	} else if i := s.search.Rand.IntN(s.seen); i < s.kept {
		s.dst[i] = e
	}
}
