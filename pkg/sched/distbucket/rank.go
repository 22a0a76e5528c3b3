package distbucket

// span is a range of ranks: from lo, to before hi.
type span struct{ lo, hi int }

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

// under returns the ranks of the entries whose coordinate begins with x, in a tree by coordinate.
func (t *tree) under(x []int64) span {
	p := placeOf(x)
	return span{lo: t.rank(p.first, p.reached), hi: t.rank(p.last, p.passed)}
}

// find returns the entry of that name from a tree by name, or nil.
func (t *tree) find(name string) *entry {
	b := t.root
	if b == nil {
		return nil
	}
	for b.kids != nil {
		b = b.kids.at[max(0, b.behind(name)-1)]
	}
	if i := b.behind(name); i > 0 && b.items[i-1].Name == name {
		return b.items[i-1]
	}
	return nil
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
