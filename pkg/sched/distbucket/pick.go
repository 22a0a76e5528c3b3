package distbucket

import "slices"

// AppendPick appends up to n nodes that fit the query, best first by its policy, and returns the
// extended slice. If n is positive, it appends none if and only if no node of the view fits.
//
// LeastFit and BestFit return the same nodes as the DistBuckets paper's search for leaf buckets, and
// nodes of one leaf bucket in the order of their names. AppendPick allocates no memory if n is at
// most 8, Query.Candidates is nil, and dst has room. Query.Accept may be called more than once for a
// node.
//
// Each policy has a fast way to find its first nodes. If that fails, the search reads all nodes that
// fit:
//
//	LeastFit, BestFit  scan the tree by coordinate, without the pages that maxima exclude
//	FirstFit, NextFit  scan the tree by name; fails after scanLimit visits without success
//	Random             draw random nodes; fails if too few of sampleTries nodes fit
//
// If the query has candidates, every candidate is read instead.
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

// bufferFor returns a slice of length n, which uses the memory of buf if buf is large enough.
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

// pick fills dst with the best nodes that fit, and returns their number.
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

// selectCandidates selects the best of the candidates. It visits each candidate.
func (s *search) selectCandidates(dst []*entry) int {
	sel := selection{search: s, dst: dst}
	return sel.fill(func() {
		for _, candidate := range s.candidates {
			sel.offer(candidate)
		}
	})
}

// selectAll reads every entry that fits, and selects the best. It also reads the entries that do not
// fit but that the maxima of their pages do not exclude. So it is used if few nodes fit.
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

// sampleTries is how many random nodes the policy Random tries before it calls selectAll instead.
const sampleTries = 64

// sample draws random nodes from all nodes until dst is full. It ignores nodes that do not fit, so
// each node that fits has the same probability. It returns false if too few of the drawn nodes fit.
//
// If a share p of the nodes fits, about k/p draws are needed for k nodes. For k = 4, sampleTries =
// 64 draws are usually enough if p is at least 1/16. If fewer nodes fit, selectAll reads all of
// them.
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

// selection keeps the best len(dst) of the entries that are passed to offer, in any order. It
// inserts a kept entry into dst, which takes O(len(dst)) time. A heap would not be faster, because
// few nodes are wanted.
type selection struct {
	search      *search
	dst         []*entry
	kept        int    // number of entries in dst, which are sorted, best first
	seen        int    // for the policy Random: number of entries so far that fit
	deferAccept bool   // Query.Accept is not called for entries that are offered
	after       *entry // only entries that come after this one are kept; nil means no limit
}

// fill calls the function offer, which passes entries to s.offer, and returns how many entries are
// kept.
//
// Query.Accept runs a scheduler's filters, which takes much longer than a comparison of two entries.
// So the first pass selects entries without it, and then Accept is called only for the selected
// entries. If Accept rejects some of them, a second pass selects among the entries after the
// selected ones. In this pass, Accept is called for an entry before the entry is kept.
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

// applyAccept removes the kept entries that Query.Accept rejects.
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

// offer keeps an entry if it fits, and if dst has room or the entry is better than one that is kept.
// An entry may be offered more than once, because Query.Candidates may contain duplicates and the
// delta may have several entries of a node. It is kept only once. offer compares an entry with the
// kept ones before it checks whether the entry fits, because most entries are worse than the kept
// ones.
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

// offerRandom keeps each entry that fits with the same probability (reservoir sampling). If dst is
// full, the i-th entry that fits replaces a kept entry with the probability
//
//	len(dst) / i
//
// Here Query.Accept is called at once, because every entry that fits counts for i.
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
