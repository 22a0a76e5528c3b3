package distbucket

import "cmp"

// tree is a copy-on-write B-tree of entries. Copying the struct after freeze makes a snapshot, in O(1):
// freeze gives the tree a new owner, and the writer then copies each page that the snapshot can reach
// before it changes it, at most once until the next freeze.
//
//	view     writer
//	 │         │
//	root     root′     after an update below A: root′ and A′ are copies, B is shared
//	│  └──┬───┘  │
//	A     B      A′
//
// put and remove are O(log n) to a base of about 7, and copy at most that many pages.
//
// The writer's methods (put, replace, remove, freeze) belong to one goroutine. Readers' methods are safe
// on snapshots from any number of goroutines.
type tree struct {
	root          *page // nil if the tree is empty
	owner         *owner
	keyOf         func(*entry) key
	order         func(a, b *entry) int // total; agrees with keyOf; 0 only for entries of one name
	ordersByLabel bool                  // entries with one exact key are ordered by label
	hasMaxima     bool                  // pages keep maxima and exactMax
}

// put inserts e, or replaces the entry that is equal in order.
func (t *tree) put(e *entry) {
	if t.root == nil {
		t.root = newLeafPage(t.owner)
	}
	left, right := t.putBelow(t.root, e)
	if t.root = left; right != nil { // the root was split: the tree gets one level higher
		t.root = newInnerPage(t.owner, t.hasMaxima)
		t.root.insertChild(0, left)
		t.root.insertChild(1, right)
	}
}

// replace removes old and inserts e. It does so in one descent if the order did not change.
func (t *tree) replace(old, e *entry) {
	if t.order(old, e) != 0 {
		t.remove(old)
	}
	t.put(e)
}

// putBelow puts e below p. It returns the page that takes p's place, and its new right neighbour if the
// page was split. A page that reaches fanout+1 items is split into halves, which are then far from both
// limits: an entry that leaves and comes back does not split and merge again each time.
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

// putInLeafPage puts e in a leaf page, which the writer must own.
func (t *tree) putInLeafPage(p *page, e *entry) {
	i := t.itemIndex(p, e)
	if i < p.n && t.order(p.items[i], e) == 0 {
		p.set(i, t.separatorOf(e), e)
	} else {
		p.insert(i, t.separatorOf(e), e)
	}
}

// remove removes the entry that is equal to e in order. It must be in the tree.
func (t *tree) remove(e *entry) {
	t.root = t.removeBelow(t.root, e)
	switch {
	case t.root.n == 0:
		t.root = nil
	case t.root.children != nil && t.root.n == 1:
		t.root = t.root.children.pages[0]
	}
}

// removeBelow removes e below p and returns the page that takes p's place.
func (t *tree) removeBelow(p *page, e *entry) *page {
	p = t.writable(p)
	if p.children == nil {
		p.remove(t.itemIndex(p, e))
		return p
	}
	i := t.childIndex(p, e)
	child := t.removeBelow(p.children.pages[i], e)
	p.children.pages[i] = child
	if child.n < fanout/2 { // pages have at least two children, so there is a neighbour
		t.rebalance(p, max(i-1, 0))
	} else {
		p.setChild(i, child)
	}
	return p
}

// rebalance merges children i and i+1 of p, or redistributes their items if they do not fit in one page.
// It is called when one of them has fewer than fanout/2 items.
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

// redistribute shares the items of two neighbours evenly. It returns a new right neighbour.
func redistribute(left, right *page) *page {
	next, half := right.emptyLike(), (left.n+right.n)/2
	if left.n > half {
		next.appendFrom(left, half)
	}
	next.appendFrom(right, half-left.n)
	left.appendFrom(right, 0)
	return next
}

// writable returns p if the writer owns it, and else a copy that it owns.
func (t *tree) writable(p *page) *page {
	if p.owner == t.owner {
		return p
	}
	return p.copy(t.owner)
}

// childIndex returns the child that holds e, or that e belongs in.
func (t *tree) childIndex(p *page, e *entry) int {
	return max(0, p.search(t.keyOf(e), func(p *page, i int) bool { return t.compare(p, i, e) > 0 })-1)
}

// itemIndex returns the position of e in a leaf page, or the one at which to insert it.
func (t *tree) itemIndex(p *page, e *entry) int {
	return p.search(t.keyOf(e), func(p *page, i int) bool { return t.compare(p, i, e) >= 0 })
}

// compare orders item i of a page, which must have the key of e, and e.
func (t *tree) compare(p *page, i int, e *entry) int {
	if t.ordersByLabel && e.exactKey {
		return cmp.Compare(p.separators[i].label, e.label)
	}
	return t.order(p.items[i], e)
}

// separatorOf returns the separator of an entry.
func (t *tree) separatorOf(e *entry) separator { return separator{t.keyOf(e), e.label} }

// freeze makes all pages immutable and their summaries valid, so that a copy of t is a snapshot.
// O(pages written since the last freeze), and O(1) if there are none.
//
// Summaries are computed here rather than in put, because updates that come together share most of the
// pages on their paths.
func (t *tree) freeze() {
	if t.root == nil || t.root.owner != t.owner {
		return // nothing has changed
	}
	t.root.summarize(t.hasMaxima)
	t.owner = new(owner)
}

// summarize computes the summaries of p and of the pages below that the writer owns. The others have
// not changed.
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

// summarizeChild computes what p stores of child i, whose own summaries must be valid.
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

// maxima returns maxima of the codes below p.
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

// size returns the number of entries. The tree must be frozen.
func (t *tree) size() int {
	if t.root == nil {
		return 0
	}
	return t.root.size()
}

// rank returns the number of entries before the ones that have a greater key, or the same key and
// isAfter. O(log n). The tree must be frozen.
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

// atRank returns the entry that has r entries before it. O(log n). The tree must be frozen.
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

// each yields the entries in order.
func (t *tree) each(yield func(*entry) bool) {
	if t.root != nil {
		t.root.each(yield)
	}
}

// each yields the entries below p in order. It returns false if yield did.
func (p *page) each(yield func(*entry) bool) bool {
	for i := range p.n {
		if p.children == nil && !yield(p.items[i]) || p.children != nil && !p.children.pages[i].each(yield) {
			return false
		}
	}
	return true
}
