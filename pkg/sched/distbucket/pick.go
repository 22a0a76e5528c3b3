package distbucket

import "slices"

// AppendPick appends up to n nodes that fit the query to dst, best first by the query's policy, and
// returns the extended slice. If n is positive and any node of the view fits, it appends at least
// one node.
//
// With the policies LeastFit and BestFit, nodes are sorted by coordinate: free amounts, divided by
// the granularity (Config.Theta) and rounded up. Nodes with equal coordinates, which form a leaf
// bucket, are sorted by name, beginning behind Query.After. The search in the original DistBuckets,
// which goes from leaf bucket to leaf bucket, finds the same nodes. AppendPick allocates no memory
// if n is at most 8, Query.Candidates is nil, and dst has room. Query.Accept may be called more
// than once for a node.
//
// Each policy has a fast way to find its first nodes. If this way fails, the search considers all
// nodes that fit (see selectAll). These are the fast ways:
//
//	LeastFit, BestFit  scan the nodes sorted by coordinate; skip tree pages in which no node has enough free
//	FirstFit, NextFit  scan the nodes sorted by name; fails if scanLimit nodes in a row have too little free
//	Random             draw sampleTries nodes at random; fails if too few of them fit
//
// If the query has candidates, none of these ways is used, and every candidate is read.
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

// appendNodes appends the nodes of the given entries to dst.
func appendNodes(dst []*Node, entries []*entry) []*Node {
	for _, e := range entries {
		dst = append(dst, &e.Node)
	}
	return dst
}

// pick fills dst with the best nodes that fit the query, and returns their number.
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

// selectCandidates fills dst with the best of the query's candidates that fit, and returns their
// number. It visits each candidate.
func (s *search) selectCandidates(dst []*entry) int {
	sel := selection{search: s, dst: dst}
	return sel.fill(func() {
		for _, candidate := range s.candidates {
			sel.offer(candidate)
		}
	})
}

// selectAll fills dst with the best nodes that fit, and returns their number. It reads every entry
// that fits. It also examines entries that do not fit, because it skips a page only if the page's
// maxima (upper bounds of the free amounts in the page) show that no entry of the page fits.
// Because of this cost, it is used only if few nodes fit.
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

// sampleTries is how many random nodes a search with the policy Random tries. If they are not
// enough, it calls selectAll.
const sampleTries = 64

// sample fills dst with nodes that it draws at random from all nodes. It ignores nodes that do not
// fit, so each node that fits has the same probability. It returns false if sampleTries draws do
// not fill dst.
//
// If one node in x fits, k·x draws are needed on average to find k nodes. To find 4 nodes, 64 draws
// (sampleTries) are enough in about 97 % of the searches if one node in 8 fits, and in about 57 %
// if one node in 16 fits. If they are not enough, selectAll reads all nodes that fit.
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

// selection keeps the best len(dst) of the entries that are passed to its method `offer`. Entries
// may be offered in any order. To insert a kept entry into the sorted slice dst takes O(len(dst))
// time. A heap would not be faster, because dst is short.
type selection struct {
	search      *search
	dst         []*entry
	kept        int    // number of entries in dst, which are sorted, best first
	seen        int    // for the policy Random: number of offered entries so far that fit
	deferAccept bool   // the method `offer` does not call Query.Accept; the method `fill` calls it later
	after       *entry // the method `offer` keeps only entries that come after this one in the order of the policy; nil means no limit
}

// fill runs a selection, and returns how many entries were kept. The function in its parameter must
// call the method s.offer for all entries. fill calls this function once, and once more if a second
// pass is needed.
//
// Query.Accept runs a scheduler's filters, which takes much longer than a comparison of two
// entries. So the first pass selects entries without Accept, and then Accept is called only for the
// selected entries. If Accept rejects some of the selected entries, a second pass selects among the
// entries that come after all selected entries in the order of the policy. In the second pass,
// Accept is called for an entry before the entry is kept.
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

// applyAccept calls Query.Accept for each kept entry, and removes the entries that it rejects.
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

// offer keeps an entry if it is among the best len(dst) entries so far that fit. An entry may be
// offered more than once, because Query.Candidates may contain duplicates. It is kept only once.
// The method first compares the entry with the kept entries, and only then checks whether it fits.
// This is faster, because most entries are worse than the kept ones.
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

// fits reports whether an entry fits the query. If deferAccept is set, it does not call
// Query.Accept.
func (s *selection) fits(e *entry) bool {
	if s.deferAccept {
		return e.Free.Covers(s.search.Request)
	}
	return s.search.accepts(e)
}

// offerRandom does the work of the method `offer` for the policy Random: each entry that fits is
// kept with the same probability (reservoir sampling). If dst is full, the i-th entry that fits
// replaces a kept entry with the probability
//
//	len(dst) / i
//
// offerRandom calls Query.Accept for every entry whose amounts suffice, because i counts only
// entries that fit.
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
