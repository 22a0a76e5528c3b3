package distbucket

import (
	"cmp"
)

// tree keeps entries in order: a B-tree whose copies are snapshots. A writer that means to keep a copy takes a new owner, and from then on
// writes no block that the copy can reach, but copies of the blocks between the root and the place of the change, each once per owner.
//
// put, remove: O(log n) to the base of about seven, and as many blocks copied at most.
type tree struct {
	root          *page
	owner         *owner
	keyOf         func(*entry) key
	order         func(a, b *entry) int // total: that of keys, and equal only if the same name
	ordersByLabel bool                  // where a key is whole, labels order
	hasMaxima     bool                  // it is searched by amounts: blocks say what is free below
}

// put adds e, or replaces the entry that is equal in order.
func (t *tree) put(e *entry) {
	if t.root == nil {
		t.root = newLeafPage(t.owner)
	}
	left, right := t.putBelow(t.root, e)
	if t.root = left; right != nil {
		t.root = newInnerPage(t.owner, t.hasMaxima)
		t.root.insertChild(0, left)
		t.root.insertChild(1, right)
	}
}

// replace puts e where old was, or in its own place if that is another.
func (t *tree) replace(old, e *entry) {
	if t.order(old, e) != 0 {
		t.remove(old)
	}
	t.put(e)
}

// putBelow returns b with e in it, and what did not fit into one block any more.
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
	p.exactMax = nil
	return p, right
}

func (t *tree) putInLeafPage(p *page, e *entry) {
	i := t.itemIndex(p, e)
	if i < p.n && t.order(p.items[i], e) == 0 {
		p.set(i, t.separatorOf(e), e)
	} else {
		p.insert(i, t.separatorOf(e), e)
	}
}

// remove drops the entry that is equal to e in order, which must be there.
func (t *tree) remove(e *entry) {
	t.root = t.removeBelow(t.root, e)
	switch {
	case t.root.n == 0:
		t.root = nil
	case t.root.children != nil && t.root.n == 1:
		t.root = t.root.children.pages[0]
	}
}

func (t *tree) removeBelow(p *page, e *entry) *page {
	p = t.writable(p)
	if p.children == nil {
		p.remove(t.itemIndex(p, e))
		return p
	}
	i := t.childIndex(p, e)
	child := t.removeBelow(p.children.pages[i], e)
	p.children.pages[i] = child
	if child.n < fanout/2 {
		t.rebalance(p, max(i-1, 0))
	} else {
		p.setChild(i, child)
	}
	return p
}

// level makes one of kids i and i+1 of b, or shares their items out evenly if they are too many for one.
func (t *tree) rebalance(p *page, i int) {
	left, right := t.writable(p.children.pages[i]), t.writable(p.children.pages[i+1])
	if left.n+right.n <= fanout {
		left.appendFrom(right, 0)
		p.remove(i + 1)
	} else {
		p.setChild(i+1, redistribute(left, right))
	}
	left.exactMax = nil
	p.setChild(i, left)
}

// even shares the items of two neighbours out evenly and returns the one that takes the place of the right one.
func redistribute(left, right *page) *page {
	next, half := right.emptyLike(), (left.n+right.n)/2
	if left.n > half {
		next.appendFrom(left, half)
	}
	next.appendFrom(right, half-left.n)
	left.appendFrom(right, 0)
	return next
}

// own returns b if it is the writer's, else a copy that is.
func (t *tree) writable(p *page) *page {
	if p.owner == t.owner {
		return p
	}
	return p.copy(t.owner)
}

// kid returns the index of the kid that holds e or is to hold it.
func (t *tree) childIndex(p *page, e *entry) int {
	return max(0, p.search(t.keyOf(e), func(p *page, i int) bool { return t.compare(p, i, e) > 0 })-1)
}

// place returns the index of e in a block of the lowest level, or where it is to go.
func (t *tree) itemIndex(p *page, e *entry) int {
	return p.search(t.keyOf(e), func(p *page, i int) bool { return t.compare(p, i, e) >= 0 })
}

// compare orders item i of a block, which has the key of e, and e.
func (t *tree) compare(p *page, i int, e *entry) int {
	if t.ordersByLabel && e.exactKey {
		return cmp.Compare(p.separators[i].label, e.label)
	}
	return t.order(p.items[i], e)
}

// brief returns what blocks say of an entry.
func (t *tree) separatorOf(e *entry) separator { return separator{t.keyOf(e), e.label} }

// seal gives up writing blocks in place: what there is belongs to views. Only now is what blocks say of those below made true, once for all
// changes since the last view. O(blocks written).
func (t *tree) freeze() {
	if t.root == nil || t.root.owner != t.owner {
		return // nothing has changed
	}
	t.root.summarize(t.hasMaxima)
	t.owner = new(owner)
}

// sum makes true what b, which is the writer's, and those below say. Blocks that are not the writer's have not changed.
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

// describe says what is at and below kid i.
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

// size returns the number of entries at and below b.
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

// peaks returns peaks of the codes at and below b.
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

// size returns the number of entries.
func (t *tree) size() int {
	if t.root == nil {
		return 0
	}
	return t.root.size()
}

// The readers' side of a tree speaks of ranks: the entry of rank r has r entries before it. A bucket is a range of them.

// rank returns the number of entries before those of a greater key and those of this key that are behind.
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

// at returns the entry of rank r.
func (t *tree) atRank(r int) *entry {
	p := t.root
	for p.children != nil {
		i := 0
		for ; r >= int(p.children.size[i]); i++ {
			r -= int(p.children.size[i])
		}
		p = p.children.pages[i]
	}
	return p.items[r]
}

// each yields the entries in order.
func (t *tree) each(yield func(*entry) bool) {
	if t.root != nil {
		t.root.each(yield)
	}
}

func (p *page) each(yield func(*entry) bool) bool {
	for i := range p.n {
		if p.children == nil && !yield(p.items[i]) || p.children != nil && !p.children.pages[i].each(yield) {
			return false
		}
	}
	return true
}
