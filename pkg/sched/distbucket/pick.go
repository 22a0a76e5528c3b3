package distbucket

import "slices"

// AppendPick appends up to n nodes that fit, best first by policy, and returns the extended slice. It
// appends none if and only if no node of the view fits.
//
// LeastFit and BestFit return the nodes that one gets from the leaf buckets in the paper's order, by name
// within a leaf. Up to 8 nodes without candidates allocate nothing if dst has room. Accept may be called
// more than once for a node.
//
// Each policy has a fast way to its first nodes, and a fallback where that fails:
//
//	candidates         every candidate                     O(|candidates|)
//	LeastFit, BestFit  scan by coordinate                  O(log n) a node, as far as maxima separate
//	FirstFit, NextFit  scan by name, up to scanLimit       else all that fit
//	Random             sample, up to sampleTries           else all that fit
func (v View) AppendPick(dst []*Node, query Query, n int) []*Node {
	n = min(n, v.Len())
	if n <= 0 {
		return dst
	}
	s := v.search(query)
	var buf [8]*entry
	found := bufferFor(n, buf[:])
	return appendNodes(dst, found[:s.pick(found)])
}

// bufferFor returns a slice of length n, in buf if it is large enough.
func bufferFor(n int, buf []*entry) []*entry {
	if n <= len(buf) {
		return buf[:n]
	}
	return make([]*entry, n)
}

// appendNodes appends the nodes of entries.
func appendNodes(dst []*Node, entries []*entry) []*Node {
	for _, e := range entries {
		dst = append(dst, &e.Node)
	}
	return dst
}

// pick fills dst with the best nodes and returns how many there are.
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

// selectCandidates selects the best of the candidates. O(|candidates|).
func (s *search) selectCandidates(dst []*entry) int {
	sel := selection{search: s, dst: dst}
	return sel.fill(func() {
		for _, candidate := range s.candidates {
			sel.offer(candidate)
		}
	})
}

// selectAll reads every entry that fits and selects the best. O(number that fit), plus what maxima do not
// rule out: it is for requests that few nodes fit.
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

// sampleTries is how many nodes Random draws from all before it falls back to selectAll.
const sampleTries = 64

// sample draws nodes from all until dst is full. Rejection keeps the draw uniform over the nodes that
// fit. It returns false if too few of the draws fit.
//
// If a share p of the nodes fits, k nodes take about k/p draws: with sampleTries = 64 and k = 4 that is
// enough down to p ≈ 1/16. Below, selectAll reads the few that fit.
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

// selection keeps the best len(dst) of the entries offered, in any order. An entry that does not get in
// costs O(1), one that does O(len(dst)); a heap would not be faster for the few nodes of a list.
type selection struct {
	search      *search
	dst         []*entry
	kept        int    // entries in dst, best first
	seen        int    // entries that fit, for Random
	deferAccept bool   // Accept is not called yet
	after       *entry // entries up to it are rejected; nil rejects none
}

// fill selects from the entries that the callback offers, and returns how many are kept.
//
// Accept runs a scheduler's filters and costs far more than a comparison. So the first pass selects
// without it, and Accept is called for the best only. If it rejects some, a second pass selects among
// the entries after them and calls Accept at once.
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

// applyAccept drops the kept entries that Accept rejects.
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

// offer keeps an entry if it fits and is better than one that is kept. It ignores duplicates,
// which candidates and the delta can have. The comparison comes before the check of the fit,
// because most entries are worse than the best one so far.
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

// fits reports whether an entry can be kept.
func (s *selection) fits(e *entry) bool {
	if s.deferAccept {
		return e.Free.Covers(s.search.Request)
	}
	return s.search.accepts(e)
}

// offerRandom keeps each entry that fits with the same probability (reservoir sampling): the i-th one
// replaces a kept one with probability
//
//	len(dst) / i
//
// Accept decides at once here, since every entry that is seen counts.
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
