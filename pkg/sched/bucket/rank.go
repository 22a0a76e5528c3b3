package bucket

import "sort"

// span is a range of ranks: from lo, to before hi.
type span struct{ lo, hi int }

// minus counts from another rank on.
func (s span) minus(n int) span { return span{s.lo - n, s.hi - n} }

// The readers' side of a tree speaks of ranks: the entry of rank r has r entries before it. A bucket is a range of them.

// rank returns the number of entries for which before holds; it must hold for the first ones in order and for no other.
func (t *tree) rank(before func(*entry) bool) int {
	n := 0
	for b := t.root; b != nil; {
		i := sort.Search(len(b.items), func(i int) bool { return !before(b.items[i]) })
		if b.kids == nil {
			return n + i
		}
		i = max(i-1, 0)
		for _, s := range b.sizes[:i] {
			n += int(s)
		}
		b = b.kids[i]
	}
	return n
}

// at returns the entry of rank r.
func (t *tree) at(r int) *entry {
	b := t.root
	for b.kids != nil {
		i := 0
		for ; r >= int(b.sizes[i]); i++ {
			r -= int(b.sizes[i])
		}
		b = b.kids[i]
	}
	return b.items[r]
}

// under returns the ranks of the entries whose coordinate begins with x, in a tree by coordinate.
func (t *tree) under(x []int64) span {
	return span{
		lo: t.rank(func(e *entry) bool { return compareX(e.x, x) < 0 }),
		hi: t.rank(func(e *entry) bool { return compareX(e.x, x) <= 0 }),
	}
}

// find returns the entry of that name from a tree by name, or nil.
func (t *tree) find(name string) *entry {
	b := t.root
	if b == nil {
		return nil
	}
	for ; b.kids != nil; b = b.kids[max(0, b.upTo(name)-1)] {
	}
	if i := b.upTo(name); i > 0 && b.items[i-1].Name == name {
		return b.items[i-1]
	}
	return nil
}

// upTo returns the number of items whose name is not greater than name.
func (b *block) upTo(name string) int {
	return sort.Search(len(b.items), func(i int) bool { return b.items[i].Name > name })
}

// each yields the entries in order.
func (t *tree) each(yield func(*entry) bool) {
	if t.root != nil {
		t.root.each(yield)
	}
}

func (b *block) each(yield func(*entry) bool) bool {
	for i, e := range b.items {
		if b.kids == nil && !yield(e) || b.kids != nil && !b.kids[i].each(yield) {
			return false
		}
	}
	return true
}
