package distbucket

// iterator is a position between two entries of a frozen tree. A move to the next entry takes O(1)
// amortised time, because it does not start from the root. An iterator is stored on the stack, so a
// search allocates no memory.
type iterator struct {
	path  [maxDepth]frame // from the root
	depth int
}

// frame is a page on the path from the root to the position. In the last frame of a path, index is
// the number of items of the page that are before the position. In the other frames, index is the
// index of the child that is on the path.
type frame struct {
	page  *page
	index int
}

// maxDepth is greater than the depth of any tree: even with only 4 items in each page, a tree of
// this depth has 4¹⁶ entries.
const maxDepth = 16

// push appends a frame to the path.
func (it *iterator) push(p *page, before int) {
	it.path[it.depth] = frame{p, before}
	it.depth++
}

// start returns the position before all entries.
func (t *tree) start() (it iterator) {
	if t.root != nil {
		it.push(t.root, 0)
	}
	return it
}

// end returns the position after all entries.
func (t *tree) end() (it iterator) {
	if t.root != nil {
		it.push(t.root, t.root.n)
	}
	return it
}

// seek returns the position before the first entry that has a greater key than k, or the key k and
// for which isAfter returns true. It takes O(log n) time for n entries.
func (t *tree) seek(k key, isAfter func(*page, int) bool) (it iterator) {
	for p := t.root; p != nil; {
		i := p.search(k, isAfter)
		if p.children == nil {
			it.push(p, i)
			return it
		}
		i = max(i-1, 0)
		it.push(p, i)
		p = p.children.pages[i]
	}
	return it
}

// matcher decides which pages and entries a search has to read: those that may cover a request,
// which means that no free amount is smaller than the requested one. A zero matcher matches
// everything.
//
// The parent of a page has the maxima of the page. If these are too small for the request, the page
// is not read. The tests are, from left to right:
//
//	maxima (codes)  ⇒ exactMax  ⇒ page is read
//	code            ⇒ exact Free ⇒ not superseded ⇒ entry matches
type matcher struct {
	want   Vector
	code   code  // of want
	delta  delta // entries that an update of the delta has replaced do not match
	visits int   // items examined so far, a measure of the cost that does not depend on the machine
	limit  int   // next stops after this many visits; 0 means no limit
}

// mayMatch reports whether item i of a page, or an entry below it, may match. For a leaf page the
// answer is exact. The cheapest test comes first: the maxima, which are in the page itself, exclude
// most of the pages below.
func (m *matcher) mayMatch(p *page, i int) bool {
	m.visits++
	if p.children != nil {
		return p.children.maxima == nil || p.children.maxima[i].covers(&m.code) && p.children.pages[i].exactMax.covers(m.want)
	}
	e := p.items[i]
	return p.codes[i].covers(&m.code) && e.Free.Covers(m.want) && !m.delta.supersedes(e)
}

// mayMatchAny reports whether an entry of the tree may match. It reads only the root page.
func (m *matcher) mayMatchAny(t *tree) bool {
	for i := 0; t.root != nil && i < t.root.n; i++ {
		if m.mayMatch(t.root, i) {
			return true
		}
	}
	return false
}

// limitReached reports whether the limit of visits is used up.
func (m *matcher) limitReached() bool { return m.visits == m.limit && m.limit > 0 }

// next moves the iterator behind the next entry that matches, and returns the entry. It returns nil
// if no further entry with a key of at most last matches, or if the limit of visits is reached. It
// does not read pages that cannot match.
func (m *matcher) next(it *iterator, last key) *entry {
	for it.depth > 0 && !m.limitReached() {
		at := &it.path[it.depth-1]
		p, i := at.page, at.index
		switch {
		case i == p.n:
			it.depth--
			if it.depth > 0 {
				it.path[it.depth-1].index++
			}
		case p.separators[i].key > last:
			return nil
		case !m.mayMatch(p, i):
			at.index++
		case p.children == nil:
			at.index++
			return p.items[i]
		default:
			it.push(p.children.pages[i], 0)
		}
	}
	return nil
}

// previous moves the iterator before the previous entry that matches, and returns the entry. It
// returns nil if no earlier entry matches. It ignores limit, because only scans by name have a
// limit, and these scans go forward.
func (m *matcher) previous(it *iterator) *entry {
	for it.depth > 0 {
		at := &it.path[it.depth-1]
		if at.index == 0 {
			it.depth--
			continue
		}
		at.index--
		p, i := at.page, at.index
		switch {
		case !m.mayMatch(p, i):
		case p.children == nil:
			return p.items[i]
		default:
			it.push(p.children.pages[i], p.children.pages[i].n)
		}
	}
	return nil
}

// atLeafStart reports whether the entry that previous returned is certainly the first of its leaf
// bucket, because the item before it in the page has a different key. If the amounts of the nodes
// differ, most nodes are alone in their leaf bucket, and this test saves two searches from the root.
func (it *iterator) atLeafStart() bool {
	at := it.path[it.depth-1]
	return at.index > 0 && at.page.separators[at.index-1].key != at.page.separators[at.index].key
}

// atLeafEnd reports whether the entry that next returned is certainly the last of its leaf bucket.
func (it *iterator) atLeafEnd() bool {
	at := it.path[it.depth-1]
	return at.index < at.page.n && at.page.separators[at.index].key != at.page.separators[at.index-1].key
}
