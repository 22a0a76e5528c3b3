package distbucket

import "cmp"

// tree is a copy-on-write B-tree of entries. After a call of the method `freeze`, a copy of the
// struct tree is an immutable snapshot of the tree. The field `owner` marks the pages that were
// made since the last call of `freeze`: they have the same owner as the tree. Each call of `freeze`
// gives the tree a new owner, so no page that the snapshot can reach has the owner of the tree. The
// writer changes a page in place only if the page has the owner of the tree. Otherwise it makes a
// copy with this owner, and changes the copy. So it copies a page at most once until the next call
// of `freeze`.
//
//	view     writer
//	 │         │
//	root     root′     after an update below A: root′ and A′ are copies, B is shared
//	│  └──┬───┘  │
//	A     B      A′
//
// For n entries, put and remove take O(log n) time, where the base of the logarithm is about 7.
// Each call copies about one page on each level of the tree.
//
// Only one goroutine at a time may call the methods that change the tree (put, replace, remove,
// freeze). Any number of goroutines may call the other methods on snapshots.
type tree struct {
	root          *page // nil if the tree is empty
	owner         *owner
	keyOf         func(*entry) key
	order         func(a, b *entry) int // compares two entries by their keys (keyOf), and if these are equal, by other data of the entries; returns 0 only if both entries belong to the same node
	ordersByLabel bool                  // the function `order` compares two entries with equal, exact keys (entry.exactKey) by their labels, which are integers in the order of names
	hasMaxima     bool                  // pages have upper bounds of the free amounts below them: maxima, which are rounded, and exactMax, which is not
}

// put inserts the entry e. If the tree has an entry that is equal to e in the order of the tree
// (t.order), the method replaces that entry.
func (t *tree) put(e *entry) {
	if t.root == nil {
		t.root = newLeafPage(t.owner)
	}
	left, right := t.putBelow(t.root, e)
	if t.root = left; right != nil { // the root was split, so the tree gets one more level
		t.root = newInnerPage(t.owner, t.hasMaxima)
		t.root.insertChild(0, left)
		t.root.insertChild(1, right)
	}
}

// replace removes the entry `old` and inserts the entry e. If the two entries have the same position
// in the order of the tree, the method walks only once from the root to this position.
func (t *tree) replace(old, e *entry) {
	if t.order(old, e) != 0 {
		t.remove(old)
	}
	t.put(e)
}

// putBelow puts e below p. The result `left` is the page that replaces p. If that page was split,
// the result `right` is its new right neighbor. A page with fanout+1 items is split into two equal
// halves, because fanout is odd. A half has one item more than the minimum (fanout/2, rounded
// down), and far fewer than the maximum (fanout). So an entry that is removed and inserted again
// and again does not cause a merge and a split each time.
func (t *tree) putBelow(p *page, e *entry) (left, right *page) {
	p = t.writable(p)
	if p.children == nil {
		t.putInLeafPage(p, e)
	} else {
		i := t.childIndex(p, e)
		left, right = t.putBelow(p.children.pages[i], e)
		p.setChild(i, left)
		if right != nil {
			p.insertChild(i+1, right)
		}
	}
	if p.n <= fanout {
		return p, nil
	}
	right = p.emptyLike()
	right.appendFrom(p, p.n/2)
	p.exactMax = nil // freeze recomputes it
	return p, right
}

// putInLeafPage inserts e into a leaf page, or replaces an equal entry there. The page must have
// the same owner as the tree, because it is changed in place.
func (t *tree) putInLeafPage(p *page, e *entry) {
	i := t.itemIndex(p, e)
	if i < p.n && t.order(p.items[i], e) == 0 {
		p.set(i, t.separatorOf(e), e)
	} else {
		p.insert(i, t.separatorOf(e), e)
	}
}

// remove removes the entry that is equal to e in the order of the tree (t.order). The tree must
// have such an entry.
func (t *tree) remove(e *entry) {
	t.root = t.removeBelow(t.root, e)
	switch {
	case t.root.n == 0:
		t.root = nil
	case t.root.children != nil && t.root.n == 1:
		t.root = t.root.children.pages[0]
	}
}

// removeBelow removes e below p and returns the page that replaces p.
func (t *tree) removeBelow(p *page, e *entry) *page {
	p = t.writable(p)
	if p.children == nil {
		p.remove(t.itemIndex(p, e))
		return p
	}
	i := t.childIndex(p, e)
	child := t.removeBelow(p.children.pages[i], e)
	p.children.pages[i] = child
	if child.n < fanout/2 { // pages have at least two children, so there is a neighbor
		t.rebalance(p, max(i-1, 0))
	} else {
		p.setChild(i, child)
	}
	return p
}

// rebalance is called when child i or child i+1 of p has fewer than fanout/2 items. It merges the
// two children. If their items do not fit into one page, it distributes the items evenly between
// the two children.
func (t *tree) rebalance(p *page, i int) {
	left, right := t.writable(p.children.pages[i]), t.writable(p.children.pages[i+1])
	if left.n+right.n <= fanout {
		left.appendFrom(right, 0)
		p.remove(i + 1)
	} else {
		p.setChild(i+1, redistribute(left, right))
	}
	left.exactMax = nil // freeze recomputes it
	p.setChild(i, left)
}

// redistribute distributes the items of two neighboring pages evenly. It changes the page `left`,
// and returns a new page that replaces the page `right`.
func redistribute(left, right *page) *page {
	next, half := right.emptyLike(), (left.n+right.n)/2
	if left.n > half {
		next.appendFrom(left, half)
	}
	next.appendFrom(right, half-left.n)
	left.appendFrom(right, 0)
	return next
}

// writable returns a page that may be changed in place: p if it has the same owner as the tree, and
// otherwise a copy of p.
func (t *tree) writable(p *page) *page {
	if p.owner == t.owner {
		return p
	}
	return p.copy(t.owner)
}

// childIndex returns the index of the child of p that has e, or into which e has to be inserted.
func (t *tree) childIndex(p *page, e *entry) int {
	return max(0, p.search(t.keyOf(e), func(p *page, i int) bool { return t.compare(p, i, e) > 0 })-1)
}

// itemIndex returns the index of e in a leaf page, or the index at which e has to be inserted.
func (t *tree) itemIndex(p *page, e *entry) int {
	return p.search(t.keyOf(e), func(p *page, i int) bool { return t.compare(p, i, e) >= 0 })
}

// compare compares item i of a page with e in the order of the tree. The two must have the same
// key.
func (t *tree) compare(p *page, i int, e *entry) int {
	if t.ordersByLabel && e.exactKey {
		return cmp.Compare(p.separators[i].label, e.label)
	}
	return t.order(p.items[i], e)
}

// separatorOf returns the separator of an entry: the integers by which pages compare it.
func (t *tree) separatorOf(e *entry) separator { return separator{t.keyOf(e), e.label} }

// freeze makes all pages of the tree immutable, so that a copy of t is a snapshot. Before this, it
// computes the summaries that pages store of the pages below them: numbers of entries, and upper
// bounds of free amounts. It visits only the pages that were written since the last freeze.
//
// Summaries are computed here and not in the method `put`, because consecutive updates often change
// the same pages. Here, the summaries of each of these pages are computed only once.
func (t *tree) freeze() {
	if t.root == nil || t.root.owner != t.owner {
		return // nothing has changed
	}
	t.root.summarize(t.hasMaxima)
	t.owner = new(owner)
}

// summarize computes the summaries that p stores of its children (see the type `children`). It
// first computes the summaries in those pages below p that have the same owner as p. All other
// pages below p have not changed since the last call of `freeze`.
func (p *page) summarize(hasMaxima bool) {
	for i := range p.n {
		if p.children != nil && p.children.written.has(i) && p.children.pages[i].owner == p.owner {
			p.children.pages[i].summarize(hasMaxima)
			p.summarizeChild(i)
		}
	}
	if hasMaxima && p.exactMax == nil {
		p.recomputeExactMax()
	}
}

// summarizeChild computes what p stores about child i: the number of entries below it and, in a
// tree with maxima, upper bounds of their free amounts. What the child stores about its own
// children must be up to date.
func (p *page) summarizeChild(i int) {
	child := p.children.pages[i]
	p.children.size[i] = int32(child.size())
	if p.children.maxima != nil {
		p.children.maxima[i] = child.maxima()
	}
	if p.exactMax != nil {
		p.exactMax = p.exactMax.raisedTo(child.exactMax[:])
	}
}

// size returns the number of entries below p.
func (p *page) size() int {
	if p.children == nil {
		return p.n
	}
	total := 0
	for _, s := range p.children.size[:p.n] {
		total += int(s)
	}
	return total
}

// maxima returns upper bounds of the free amounts of all entries below p (see the type `maxima`).
// It computes them from the compressed amounts (codes) of a leaf page, or from the maxima of the
// children.
func (p *page) maxima() (m maxima) {
	for i := range p.n {
		if p.children == nil {
			m.add(p.codes[i])
			continue
		}
		for _, c := range p.children.maxima[i] {
			m.add(c)
		}
	}
	return m
}

// size returns the number of entries of the tree. The tree must not have changed since the last
// call of `freeze`.
func (t *tree) size() int {
	if t.root == nil {
		return 0
	}
	return t.root.size()
}

// rank returns the number of entries before the first entry that comes after k. An entry comes
// after k if its key is greater than k, or if its key is k and isAfter returns true for it. rank
// takes O(log n) time for n entries. The tree must not have changed since the last call of
// `freeze`.
func (t *tree) rank(k key, isAfter func(*page, int) bool) int {
	n := 0
	for p := t.root; p != nil; {
		i := p.search(k, isAfter)
		if p.children == nil {
			return n + i
		}
		i = max(i-1, 0)
		for _, s := range p.children.size[:i] {
			n += int(s)
		}
		p = p.children.pages[i]
	}
	return n
}

// atRank returns the entry that has r entries before it. It takes O(log n) time for n entries. The
// tree must not have changed since the last call of `freeze`.
func (t *tree) atRank(r int) *entry {
	page := t.root
	for page.children != nil {
		i := 0
		for ; r >= int(page.children.size[i]); i++ {
			r -= int(page.children.size[i])
		}
		page = page.children.pages[i]
	}
	return page.items[r]
}

// The method `each` yields all entries of the tree in order.
func (t *tree) each(yield func(*entry) bool) {
	if t.root != nil {
		t.root.each(yield)
	}
}

// The method `each` yields the entries below p in order. If `yield` returns false, `each` stops and
// returns false.
func (p *page) each(yield func(*entry) bool) bool {
	for i := range p.n {
		if p.children == nil && !yield(p.items[i]) || p.children != nil && !p.children.pages[i].each(yield) {
			return false
		}
	}
	return true
}
