package distbucket

// iterator is a position between two entries of a frozen tree. A move to the next entry is O(1)
// amortised, without a search from the root. The iterator is on the stack, so a search allocates
// nothing.
type iterator struct {
	path  [maxDepth]frame // from the root
	depth int
}

// frame is a page on the path to the position. In the last frame, index items of the page are before
// the position. In the others, index is the child on the path.
type frame struct {
	page  *page
	index int
}

// maxDepth exceeds the depth of every tree: with 4 items a page, 4¹⁶ entries.
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

// seek returns the position before the entries that have a greater key, or the same key and isAfter.
// O(log n).
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

// matcher decides which pages and entries a search has to read: those that may cover a request. The
// zero value matches everything.
//
// The summary in the parent page rules a page out, so a page that cannot match is never read:
//
//	maxima (codes)  ⇒ exactMax  ⇒ page is read
//	code            ⇒ exact Free ⇒ not superseded ⇒ entry matches
type matcher struct {
	want   Vector
	code   code  // of want
	delta  delta // entries that it supersedes do not match
	visits int   // items examined so far: the cost of a search on any machine
	limit  int   // of visits, for next; 0 means none
}

// mayMatch reports whether an entry at or below item i may match. For a leaf page the answer is exact.
// The cheapest tests come first: maxima, which are in the page itself, rule most subtrees out.
func (m *matcher) mayMatch(p *page, i int) bool {
	m.visits++
	if p.children != nil {
		return p.children.maxima == nil || p.children.maxima[i].covers(&m.code) && p.children.pages[i].exactMax.covers(m.want)
	}
	e := p.items[i]
	return p.codes[i].covers(&m.code) && e.Free.Covers(m.want) && !m.delta.supersedes(e)
}

// mayMatchAny reports whether an entry of the tree may match, from the root page alone.
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

// next moves the iterator past the next entry that matches, and returns it. It returns nil at the end,
// after the last entry whose key is at most last, and when the limit is reached. It does not read pages
// that cannot match.
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

// previous moves the iterator before the previous entry that matches, and returns it, or nil at the
// start. It has no limit: only scans by name have one, and they go forward.
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
// bucket: the item before it in the page has another key. With amounts that differ, most nodes are alone
// in their leaf, and the answer saves two searches from the root.
func (it *iterator) atLeafStart() bool {
	at := it.path[it.depth-1]
	return at.index > 0 && at.page.separators[at.index-1].key != at.page.separators[at.index].key
}

// atLeafEnd reports whether the entry that next returned is certainly the last of its leaf bucket.
func (it *iterator) atLeafEnd() bool {
	at := it.path[it.depth-1]
	return at.index < at.page.n && at.page.separators[at.index].key != at.page.separators[at.index-1].key
}
