package distbucket

import (
	"cmp"
)

// tree keeps entries in order: a B-tree whose copies are snapshots. A writer that means to keep a copy takes a new owner, and from then on
// writes no block that the copy can reach, but copies of the blocks between the root and the place of the change, each once per owner.
//
// put, remove: O(log n) to the base of about seven, and as many blocks copied at most.
type tree struct {
	root    *block
	owner   *owner
	key     func(*entry) key
	order   func(a, b *entry) int // total: that of keys, and equal only if the same name
	labeled bool                  // where a key is whole, labels order
	amounts bool                  // it is searched by amounts: blocks say what is free below
}

// put adds e, or replaces the entry that is equal in order.
func (t *tree) put(e *entry) {
	if t.root == nil {
		t.root = newLowest(t.owner)
	}
	left, right := t.putBelow(t.root, e)
	if t.root = left; right != nil {
		t.root = newInner(t.owner, t.amounts)
		t.root.insertKid(0, left)
		t.root.insertKid(1, right)
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
func (t *tree) putBelow(b *block, e *entry) (left, right *block) {
	b = t.own(b)
	if b.kids == nil {
		t.putHere(b, e)
	} else {
		i := t.kid(b, e)
		left, right = t.putBelow(b.kids.at[i], e)
		b.setKid(i, left)
		if right != nil {
			b.insertKid(i+1, right)
		}
	}
	if b.n <= fan {
		return b, nil
	}
	right = b.sibling()
	right.append(b, b.n/2)
	b.top = nil
	return b, right
}

func (t *tree) putHere(b *block, e *entry) {
	i := t.place(b, e)
	if i < b.n && t.order(b.items[i], e) == 0 {
		b.set(i, t.brief(e), e)
	} else {
		b.insert(i, t.brief(e), e)
	}
}

// remove drops the entry that is equal to e in order, which must be there.
func (t *tree) remove(e *entry) {
	t.root = t.removeBelow(t.root, e)
	switch {
	case t.root.n == 0:
		t.root = nil
	case t.root.kids != nil && t.root.n == 1:
		t.root = t.root.kids.at[0]
	}
}

func (t *tree) removeBelow(b *block, e *entry) *block {
	b = t.own(b)
	if b.kids == nil {
		b.remove(t.place(b, e))
		return b
	}
	i := t.kid(b, e)
	kid := t.removeBelow(b.kids.at[i], e)
	b.kids.at[i] = kid
	if kid.n < fan/2 {
		t.level(b, max(i-1, 0))
	} else {
		b.setKid(i, kid)
	}
	return b
}

// level makes one of kids i and i+1 of b, or shares their items out evenly if they are too many for one.
func (t *tree) level(b *block, i int) {
	left, right := t.own(b.kids.at[i]), t.own(b.kids.at[i+1])
	if left.n+right.n <= fan {
		left.append(right, 0)
		b.remove(i + 1)
	} else {
		b.setKid(i+1, even(left, right))
	}
	left.top = nil
	b.setKid(i, left)
}

// even shares the items of two neighbours out evenly and returns the one that takes the place of the right one.
func even(left, right *block) *block {
	next, half := right.sibling(), (left.n+right.n)/2
	if left.n > half {
		next.append(left, half)
	}
	next.append(right, half-left.n)
	left.append(right, 0)
	return next
}

// own returns b if it is the writer's, else a copy that is.
func (t *tree) own(b *block) *block {
	if b.owner == t.owner {
		return b
	}
	return b.copy(t.owner)
}

// kid returns the index of the kid that holds e or is to hold it.
func (t *tree) kid(b *block, e *entry) int {
	return max(0, b.search(t.key(e), func(b *block, i int) bool { return t.compare(b, i, e) > 0 })-1)
}

// place returns the index of e in a block of the lowest level, or where it is to go.
func (t *tree) place(b *block, e *entry) int {
	return b.search(t.key(e), func(b *block, i int) bool { return t.compare(b, i, e) >= 0 })
}

// compare orders item i of a block, which has the key of e, and e.
func (t *tree) compare(b *block, i int, e *entry) int {
	if t.labeled && e.whole {
		return cmp.Compare(b.briefs[i].label, e.label)
	}
	return t.order(b.items[i], e)
}

// brief returns what blocks say of an entry.
func (t *tree) brief(e *entry) brief { return brief{t.key(e), e.label} }

// seal gives up writing blocks in place: what there is belongs to views. Only now is what blocks say of those below made true, once for all
// changes since the last view. O(blocks written).
func (t *tree) seal() {
	if t.root == nil || t.root.owner != t.owner {
		return // nothing has changed
	}
	t.root.sum(t.amounts)
	t.owner = new(owner)
}

// sum makes true what b, which is the writer's, and those below say. Blocks that are not the writer's have not changed.
func (b *block) sum(amounts bool) {
	for i := range b.n {
		if b.kids != nil && b.kids.wrote.has(i) && b.kids.at[i].owner == b.owner {
			b.kids.at[i].sum(amounts)
			b.describe(i)
		}
	}
	if amounts && b.top == nil {
		b.settle()
	}
}

// describe says what is at and below kid i.
func (b *block) describe(i int) {
	kid := b.kids.at[i]
	b.kids.size[i] = int32(kid.size())
	if b.kids.peaks != nil {
		b.kids.peaks[i] = kid.peaks()
	}
	if b.top != nil {
		b.top = b.top.raised(kid.top[:])
	}
}

// size returns the number of entries at and below b.
func (b *block) size() int {
	if b.kids == nil {
		return b.n
	}
	total := 0
	for _, s := range b.kids.size[:b.n] {
		total += int(s)
	}
	return total
}

// peaks returns peaks of the codes at and below b.
func (b *block) peaks() (p peaks) {
	for i := range b.n {
		if b.kids == nil {
			p.add(b.codes[i])
			continue
		}
		for _, c := range b.kids.peaks[i] {
			p.add(c)
		}
	}
	return p
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
func (t *tree) rank(k key, behind func(*block, int) bool) int {
	n := 0
	for b := t.root; b != nil; {
		i := b.search(k, behind)
		if b.kids == nil {
			return n + i
		}
		i = max(i-1, 0)
		for _, s := range b.kids.size[:i] {
			n += int(s)
		}
		b = b.kids.at[i]
	}
	return n
}

// at returns the entry of rank r.
func (t *tree) at(r int) *entry {
	b := t.root
	for b.kids != nil {
		i := 0
		for ; r >= int(b.kids.size[i]); i++ {
			r -= int(b.kids.size[i])
		}
		b = b.kids.at[i]
	}
	return b.items[r]
}

// each yields the entries in order.
func (t *tree) each(yield func(*entry) bool) {
	if t.root != nil {
		t.root.each(yield)
	}
}

func (b *block) each(yield func(*entry) bool) bool {
	for i := range b.n {
		if b.kids == nil && !yield(b.items[i]) || b.kids != nil && !b.kids.at[i].each(yield) {
			return false
		}
	}
	return true
}
