package bucket

import "sort"

// tree keeps entries in order. Copies of it are snapshots: a writer that means to keep one takes a new owner, and from then on writes no
// block that the snapshot can reach, but copies of the blocks between the root and the place of the change, each once per owner.
//
// put, remove: O(log n) to the base of about ten, and as many blocks copied at most.
type tree struct {
	root  *block
	owner *owner
	dims  int                   // length of the rows of maxima, 0 for none
	order func(a, b *entry) int // total: equal only if the same name
}

// size returns the number of entries.
func (t *tree) size() int {
	if t.root == nil {
		return 0
	}
	return t.root.size()
}

// put adds e, or replaces the entry that is equal in order.
func (t *tree) put(e *entry) {
	if t.root == nil {
		t.root = newBlock(t.owner, false, t.dims)
	}
	left, right := t.putBelow(t.root, e)
	if t.root = left; right != nil {
		t.root = newBlock(t.owner, true, t.dims)
		t.root.insert(0, nil, left, t.dims)
		t.root.insert(1, nil, right, t.dims)
	}
}

// putBelow returns b with e in it, and what did not fit into one block any more.
func (t *tree) putBelow(b *block, e *entry) (left, right *block) {
	b = t.own(b)
	if b.kids == nil {
		t.putHere(b, e)
	} else {
		i := t.kid(b, e)
		kid, sibling := t.putBelow(b.kids[i], e)
		b.kids[i] = kid
		b.refresh(i, t.dims)
		if sibling != nil {
			b.insert(i+1, nil, sibling, t.dims)
		}
	}
	if len(b.items) <= fan {
		return b, nil
	}
	return b, t.split(b)
}

func (t *tree) putHere(b *block, e *entry) {
	i := sort.Search(len(b.items), func(i int) bool { return t.order(b.items[i], e) >= 0 })
	if i < len(b.items) && t.order(b.items[i], e) == 0 {
		b.items[i] = e
		b.refresh(i, t.dims)
		return
	}
	b.insert(i, e, nil, t.dims)
}

// remove drops the entry that is equal to e in order, which must be there.
func (t *tree) remove(e *entry) {
	t.root = t.removeBelow(t.root, e)
	switch {
	case len(t.root.items) == 0:
		t.root = nil
	case t.root.kids != nil && len(t.root.kids) == 1:
		t.root = t.root.kids[0]
	}
}

// replace puts e where old was, or in its own place if that is another.
func (t *tree) replace(old, e *entry) {
	if t.order(old, e) != 0 {
		t.remove(old)
	}
	t.put(e)
}

func (t *tree) removeBelow(b *block, e *entry) *block {
	b = t.own(b)
	if b.kids == nil {
		b.delete(sort.Search(len(b.items), func(i int) bool { return t.order(b.items[i], e) >= 0 }), t.dims)
		return b
	}
	i := t.kid(b, e)
	b.kids[i] = t.removeBelow(b.kids[i], e)
	if len(b.kids[i].items) < fan/2 {
		t.join(b, max(i-1, 0))
		return b
	}
	b.refresh(i, t.dims)
	return b
}

// join makes one of kids i and i+1 of b, or shares their items out evenly if they are too many for one.
func (t *tree) join(b *block, i int) {
	left, right := t.own(b.kids[i]), b.kids[i+1]
	both := newBlock(t.owner, left.kids != nil, t.dims)
	both.move(left, 0, t.dims)
	both.move(right, 0, t.dims)
	b.delete(i+1, t.dims)
	left.cut(0, t.dims)
	if len(both.items) <= fan {
		left.move(both, 0, t.dims)
	} else {
		half := t.split(both)
		left.move(both, 0, t.dims)
		b.kids[i] = left
		b.insert(i+1, nil, half, t.dims)
	}
	b.kids[i] = left
	b.refresh(i, t.dims)
}

// split cuts b in half and returns the upper one.
func (t *tree) split(b *block) *block {
	right := newBlock(t.owner, b.kids != nil, t.dims)
	right.move(b, len(b.items)/2, t.dims)
	b.cut(len(b.items)/2, t.dims)
	return right
}

// own returns b if it is the writer's, else a copy that is.
func (t *tree) own(b *block) *block {
	if b.owner == t.owner {
		return b
	}
	c := newBlock(t.owner, b.kids != nil, t.dims)
	c.move(b, 0, t.dims)
	return c
}

// kid returns the index of the kid that holds e or is to hold it.
func (t *tree) kid(b *block, e *entry) int {
	return max(0, sort.Search(len(b.items), func(i int) bool { return t.order(b.items[i], e) > 0 })-1)
}
