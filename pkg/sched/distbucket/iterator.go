package distbucket

// deepest is more blocks than there are between the root of a tree and an entry: 4 items in a block would make 4¹⁶ entries.
const maxDepth = 16

// cursor is a place between two entries of a tree: who comes from entry to entry need not begin at the root each time.
type iterator struct {
	path  [maxDepth]frame // from the root
	depth int
}

// step is a block on the way. Of the last one, so many items are before the place; of the others, item before is on the way.
type frame struct {
	page  *page
	index int
}

func (it *iterator) push(p *page, before int) {
	it.path[it.depth] = frame{p, before}
	it.depth++
}

// begin returns the place before all entries.
func (t *tree) start() (it iterator) {
	if t.root != nil {
		it.push(t.root, 0)
	}
	return it
}

// end returns the place behind all entries.
func (t *tree) end() (it iterator) {
	if t.root != nil {
		it.push(t.root, t.root.n)
	}
	return it
}

// seek returns the place before the entries of a greater key and those of this key that are behind.
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

// next goes to the place behind the next entry that covers what is wanted, and returns the entry, or nil. It looks into no block whose maxima
// do not cover it, and no farther than to keys greater than last.
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

// previous goes to the place before the last entry before it that covers what is wanted, likewise.
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

// beforeLeaf says whether the entry that previous has come to is surely the first of its leaf: the one before it in the block, if the block has
// one, has another key. Most nodes are alone in their leaf where they have come to be used by unlike amounts, and two searches from the root are saved.
func (it *iterator) atLeafStart() bool {
	at := it.path[it.depth-1]
	return at.index > 0 && at.page.separators[at.index-1].key != at.page.separators[at.index].key
}

// behindLeaf says whether the entry that next has come to is surely the last of its leaf, likewise.
func (it *iterator) atLeafEnd() bool {
	at := it.path[it.depth-1]
	return at.index < at.page.n && at.page.separators[at.index].key != at.page.separators[at.index-1].key
}

// walk looks for entries that cover want and are not stale.
type matcher struct {
	want   Vector
	code   code // of want
	delta  delta
	visits int // there were, at items: what a search costs, on any machine
	limit  int // of looks; 0 is none
}

// sees says whether there may be an entry that covers what is wanted at or below item i; at the lowest level it is sure.
func (m *matcher) mayMatch(p *page, i int) bool {
	m.visits++
	if p.children != nil {
		return p.children.maxima == nil || p.children.maxima[i].covers(&m.code) && p.children.pages[i].exactMax.covers(m.want)
	}
	e := p.items[i]
	return p.codes[i].covers(&m.code) && e.Free.Covers(m.want) && !m.delta.supersedes(e)
}

// hopes says whether there may be such an entry in a tree, by a look at its root.
func (m *matcher) mayMatchAny(t *tree) bool {
	for i := 0; t.root != nil && i < t.root.n; i++ {
		if m.mayMatch(t.root, i) {
			return true
		}
	}
	return false
}

// tired says whether the limit is reached.
func (m *matcher) limitReached() bool { return m.visits == m.limit && m.limit > 0 }
