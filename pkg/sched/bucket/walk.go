package bucket

import "sort"

// The readers' side of a tree speaks of ranks: the entry of rank r has r entries before it. A range of ranks is a bucket, a leaf, or what is
// left of a walk.

// rank returns the number of entries for which before holds; it must hold for the first ones in order and for no other.
func (t *tree) rank(before func(*entry) bool) int {
	n := 0
	for b := t.root; b != nil; {
		i := 0
		for i < len(b.items) && before(b.items[i]) {
			i++
		}
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

// up returns the first entry of rank at least from that covers want, and its rank, or nil. It looks into no block whose maxima do not
// cover want.
func (t *tree) up(from int, want Vector) (*entry, int) {
	if t.root == nil {
		return nil, 0
	}
	return t.root.up(from, want)
}

func (b *block) up(from int, want Vector) (*entry, int) {
	n := 0
	for i := range b.items {
		size := b.weight(i)
		if n+size > from && b.row(i, len(want)).Covers(want) {
			if b.kids == nil {
				return b.items[i], n
			}
			if e, r := b.kids[i].up(from-n, want); e != nil {
				return e, n + r
			}
		}
		n += size
	}
	return nil, 0
}

// down returns the last entry of rank less than from that covers want, and its rank, or nil.
func (t *tree) down(from int, want Vector) (*entry, int) {
	if t.root == nil {
		return nil, 0
	}
	return t.root.down(from, want)
}

func (b *block) down(from int, want Vector) (*entry, int) {
	n := b.size()
	for i := len(b.items) - 1; i >= 0; i-- {
		n -= b.weight(i)
		if n >= from || !b.row(i, len(want)).Covers(want) {
			continue
		}
		if b.kids == nil {
			return b.items[i], n
		}
		if e, r := b.kids[i].down(from-n, want); e != nil {
			return e, n + r
		}
	}
	return nil, 0
}

// weight returns the number of entries at and below item i.
func (b *block) weight(i int) int {
	if b.kids == nil {
		return 1
	}
	return int(b.sizes[i])
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
