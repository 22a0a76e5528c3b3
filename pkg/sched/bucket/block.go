package bucket

import "sort"

// fan is the most items in a block. 9 and one on the way in make 512 bytes.
const fan = 9

// owner is who may write a block in place. It has a size, so that two of them are two.
type owner struct{ _ byte }

// block is a node of a tree (the word node being taken): up to fan items in order. Item i is an entry, or in an inner block the first entry of
// kid i; boxes[i] holds the codes of the entries at and below it, and nothing less. Below b nothing exceeds top.
type block struct {
	owner *owner
	kids  *kids // nil at the lowest level
	top   *top
	n     int
	keys  [fan + 1]key // of items
	items [fan + 1]*entry
	boxes [fan + 1]box
}

// kids are the blocks below an inner block, and the number of entries at and below each.
type kids struct {
	at   [fan + 1]*block
	size [fan + 1]int32
}

// copy returns a copy of b for another owner.
func (b *block) copy(o *owner) *block {
	c := *b
	c.owner = o
	if b.kids != nil {
		k := *b.kids
		c.kids = &k
	}
	return &c
}

// sibling returns an empty block of the same owner and level.
func (b *block) sibling() *block {
	s := &block{owner: b.owner}
	if b.kids != nil {
		s.kids = new(kids)
	}
	return s
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

// search returns the first item that has a greater key, or this key and comes behind, or n; behind must hold for all that follow.
func (b *block) search(k key, behind func(*entry) bool) int {
	return sort.Search(b.n, func(i int) bool {
		return b.keys[i] > k || b.keys[i] == k && behind(b.items[i])
	})
}

// insert puts an entry at i.
func (b *block) insert(i int, k key, e *entry) {
	b.open(i)
	b.set(i, k, e)
}

// set makes e the entry at i.
func (b *block) set(i int, k key, e *entry) {
	b.keys[i], b.items[i], b.boxes[i] = k, e, box{e.code, e.code}
	b.top = b.top.raised(e.Free)
}

// insertKid puts a block at i.
func (b *block) insertKid(i int, kid *block) {
	b.open(i)
	b.setKid(i, kid)
}

// setKid makes kid, which is not empty, the block at i, or takes note that it changed.
func (b *block) setKid(i int, kid *block) {
	b.kids.at[i], b.kids.size[i] = kid, int32(kid.size())
	b.keys[i], b.items[i], b.boxes[i] = kid.keys[0], kid.items[0], kid.boxes[0]
	for k := 1; k < kid.n; k++ {
		b.boxes[i].extend(&kid.boxes[k])
	}
	b.top = b.top.raised(kid.top[:])
}

// open makes room at i.
func (b *block) open(i int) {
	copy(b.keys[i+1:], b.keys[i:b.n])
	copy(b.items[i+1:], b.items[i:b.n])
	copy(b.boxes[i+1:], b.boxes[i:b.n])
	if b.kids != nil {
		copy(b.kids.at[i+1:], b.kids.at[i:b.n])
		copy(b.kids.size[i+1:], b.kids.size[i:b.n])
	}
	b.n++
}

// remove closes the gap at i.
func (b *block) remove(i int) {
	copy(b.keys[i:], b.keys[i+1:b.n])
	copy(b.items[i:], b.items[i+1:b.n])
	copy(b.boxes[i:], b.boxes[i+1:b.n])
	if b.kids != nil {
		copy(b.kids.at[i:], b.kids.at[i+1:b.n])
		copy(b.kids.size[i:], b.kids.size[i+1:b.n])
	}
	b.drop(1)
}

// drop forgets the last items, so that nothing is kept from the garbage collector.
func (b *block) drop(count int) {
	clear(b.items[b.n-count : b.n])
	if b.kids != nil {
		clear(b.kids.at[b.n-count : b.n])
	}
	b.n -= count
}

// append moves the items of next from i on behind those of b. There must be room.
func (b *block) append(next *block, i int) {
	copy(b.keys[b.n:], next.keys[i:next.n])
	copy(b.items[b.n:], next.items[i:next.n])
	copy(b.boxes[b.n:], next.boxes[i:next.n])
	if b.kids != nil {
		copy(b.kids.at[b.n:], next.kids.at[i:next.n])
		copy(b.kids.size[b.n:], next.kids.size[i:next.n])
	}
	b.n += next.n - i
	next.drop(next.n - i)
}
