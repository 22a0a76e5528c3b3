package distbucket

// iterator is a position between two entries of a frozen tree. To move it to the next entry takes
// O(1) amortised time, because the move does not start from the root. An iterator is stored on the
// stack, so a search with it allocates no memory.
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

// maxDepth is greater than the depth of any tree. Even if each page has only 4 items, a tree of
// depth maxDepth has 4¹⁶ entries.
const maxDepth = 16

// push appends a page and an index in the page to the path.
func (it *iterator) push(p *page, before int) {
	it.path[it.depth] = frame{p, before}
	it.depth++
}

// start returns the position before all entries of the tree.
func (t *tree) start() (it iterator) {
	if t.root != nil {
		it.push(t.root, 0)
	}
	return it
}

// end returns the position after all entries of the tree.
func (t *tree) end() (it iterator) {
	if t.root != nil {
		it.push(t.root, t.root.n)
	}
	return it
}

// seek returns the position before the first entry whose key is greater than k, or whose key is k
// and for which isAfter returns true. It takes O(log n) time for n entries.
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

// matcher decides which pages and entries of a tree a search has to read. An entry matches if it
// covers the request: no free amount is smaller than the requested amount. A page is read only if
// an entry below it may match. A zero matcher matches everything.
//
// The parent of a page has the maxima of the page, which are upper bounds of the free amounts below
// it. If none of the maxima covers the request, the page is not read. A page is read, and an entry
// matches, if it passes these tests, which are made from left to right:
//
//	page:   rounded maxima (type maxima) → exact maximum of each dimension (exactMax)
//	entry:  rounded free amounts (code) → exact free amounts (Free) → not replaced in the delta
type matcher struct {
	want   Vector
	code   code  // code of want, rounded down, for fast comparisons
	delta  delta // the newest updates, which are not yet in the tree; an entry that one of them has replaced does not match
	visits int   // number of items examined so far, a measure of the cost that does not depend on the machine
	limit  int   // when visits has this value, the method next returns nil; 0 means no limit
}

// mayMatch reports whether item i of a leaf page matches, or whether an entry below child i of an
// inner page may match. The cheapest test comes first: the maxima, which are stored in the page
// itself, exclude most of the children.
func (m *matcher) mayMatch(p *page, i int) bool {
	m.visits++
	if p.children != nil {
		return p.children.maxima == nil || p.children.maxima[i].covers(&m.code) && p.children.pages[i].exactMax.covers(m.want)
	}
	e := p.items[i]
	return p.codes[i].covers(&m.code) && e.Free.Covers(m.want) && !m.delta.supersedes(e)
}

// mayMatchAny reports whether any entry of the tree may match. It is fast, because it reads only
// the root page.
func (m *matcher) mayMatchAny(t *tree) bool {
	for i := 0; t.root != nil && i < t.root.n; i++ {
		if m.mayMatch(t.root, i) {
			return true
		}
	}
	return false
}

// limitReached reports whether the search has made as many visits as m.limit allows.
func (m *matcher) limitReached() bool { return m.visits == m.limit && m.limit > 0 }

// next moves the iterator behind the next entry that matches, and returns the entry. The parameter
// last is the greatest key to search. next returns nil if no later entry up to this key matches, or
// if the limit of visits is reached. It does not read pages in which no entry can match.
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
// returns nil if no earlier entry matches. It ignores the field limit, because only scans by name
// have a limit, and these scans go forward.
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

// atLeafStart reports whether the entry that the method previous has returned is certainly the
// first of its leaf bucket, because the item before it in the page has a different key. If it
// returns true, the caller can take the entry at once, which saves two searches from the root. This
// is common: if the amounts of the nodes differ, most nodes are alone in their leaf bucket.
func (it *iterator) atLeafStart() bool {
	at := it.path[it.depth-1]
	return at.index > 0 && at.page.separators[at.index-1].key != at.page.separators[at.index].key
}

// atLeafEnd reports whether the entry that the method next has returned is certainly the last of
// its leaf bucket, because the item after it in the page has a different key.
func (it *iterator) atLeafEnd() bool {
	at := it.path[it.depth-1]
	return at.index < at.page.n && at.page.separators[at.index].key != at.page.separators[at.index-1].key
}
