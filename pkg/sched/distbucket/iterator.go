package distbucket

// iterator is a position between two entries of a tree that no longer changes. Moving it to the
// next entry takes O(1) amortized time, because the move does not start from the root. An iterator
// is stored on the stack, so a search with it allocates no memory.
type iterator struct {
	path  [maxDepth]frame // from the root
	depth int
}

// frame is a page on the path from the root to the position. The meaning of the field `index` depends
// on the frame. In the last frame of a path, it is the number of items of the page that are before
// the position. In the other frames, it says which child of the page is the next page of the path.
type frame struct {
	page  *page
	index int
}

// maxDepth is greater than the depth of any tree. Each page except the root has at least 4 items
// (fanout/2), so a tree of depth maxDepth would have at least 2·4¹⁵ entries, which is two billion.
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

// seek returns the position before the first entry that comes after k. An entry comes after k if
// its key is greater than k, or if its key is k and isAfter returns true for it. seek takes
// O(log n) time for n entries.
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
// it. If none of the maxima covers the request, the page is not read. A page is read if it passes
// all tests of the first line below, and an entry matches if it passes all tests of the second
// line. The tests of a line are made from left to right:
//
//	page:   rounded maxima (type maxima) → upper bounds that are not rounded (exactMax)
//	entry:  rounded free amounts (code) → exact free amounts (Free) → not replaced in the delta
type matcher struct {
	want   Vector
	code   code  // code of `want`, rounded down, for fast comparisons
	delta  delta // the newest updates, which are not yet in the tree; an entry that one of them has replaced does not match
	visits int   // number of items examined so far, a measure of the cost that does not depend on the machine
	limit  int   // when the field `visits` has this value, the method `next` returns nil; 0 means no limit
}

// mayMatch tests item i of the page p. In a leaf page, the item is an entry, and mayMatch reports
// whether it matches. In an inner page, the item is a child, and mayMatch reports whether an entry
// below the child may match. The cheapest test comes first: the maxima, which are stored in the
// page itself, exclude most of the children.
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
// `last` is the greatest key to search. The method returns nil if no later entry up to this key
// matches, or if the limit of visits is reached. It does not read pages in which no entry can
// match.
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
// returns nil if no earlier entry matches. It ignores the field `limit`, because only scans by name
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

// atLeafStart is called after the method `previous` has returned an entry. It returns true if the
// item before this entry in the page has a different key. Then the entry is the first of its leaf
// bucket (entries with equal coordinates), and the caller can take it at once. If the result is
// false, the caller does not know whether the entry is the first. The caller then needs two searches
// from the root: one to read the leaf bucket from its start, and one to continue before the bucket.
// The result true is common: if the amounts of the nodes differ, most nodes are alone in their leaf
// bucket.
func (it *iterator) atLeafStart() bool {
	at := it.path[it.depth-1]
	return at.index > 0 && at.page.separators[at.index-1].key != at.page.separators[at.index].key
}

// atLeafEnd is called after the method `next` has returned an entry. It returns true if the item
// after this entry in the page has a different key. Then the entry is the last of its leaf bucket.
// If the result is false, the entry may or may not be the last.
func (it *iterator) atLeafEnd() bool {
	at := it.path[it.depth-1]
	return at.index < at.page.n && at.page.separators[at.index].key != at.page.separators[at.index-1].key
}
