package distbucket

import (
	"sort"
)

// fan is the most items in a block.
const fan = 9

// owner is who may write a block in place. It has a size, so that two of them are two.
type owner struct{ _ byte }

// block is a node of a tree (the word node being taken): up to fan items in order. Item i is an entry, or in an inner block the first entry of
// kid i.
type block struct {
	owner  *owner
	kids   *kids  // nil at the lowest level
	codes  *codes // of items, at the lowest level
	top    *top   // nothing below exceeds it; nil is for one that seal has yet to make
	n      int
	briefs [fan + 1]brief // of items
	items  [fan + 1]*entry
}

// brief is what blocks say of an entry, so that a search seldom has to look at one, which is elsewhere in memory.
type brief struct{ key, label key }

// codes are those of the items of a block. An inner one has none to copy.
type codes [fan + 1]code

// kids are the blocks below an inner block, and what seal says of each: the number of entries at and below it, and in a tree that is searched by
// amounts the peaks of their codes.
type kids struct {
	at    [fan + 1]*block
	size  [fan + 1]int32
	wrote marks
	peaks *[fan + 1]peaks
}

// marks say, one bit each, which kids may be the writer's: who seals would else have to look at all of them, which are elsewhere in memory.
type marks uint16

const allKids marks = 1<<(fan+1) - 1

func (m marks) has(i int) bool { return m>>i&1 == 1 }

// A block and what it has beside its items are one piece of memory, for they are looked at and copied together.
type (
	lowest struct {
		block
		room codes
	}
	inner struct {
		block
		room kids
	}
	telling struct {
		inner
		peaks [fan + 1]peaks
	}
)

// newLowest returns an empty block of the lowest level.
func newLowest(o *owner) *block {
	b := &lowest{block: block{owner: o}}
	b.codes = &b.room
	return &b.block
}

// newInner returns an empty inner block, which says what is free below or does not.
func newInner(o *owner, tells bool) *block {
	if tells {
		b := &telling{inner: inner{block: block{owner: o}}}
		b.kids, b.room.peaks = &b.room, &b.peaks
		return &b.block
	}
	b := &inner{block: block{owner: o}}
	b.kids = &b.room
	return &b.block
}

// sibling returns an empty block of the same owner and level.
func (b *block) sibling() *block {
	if b.kids == nil {
		return newLowest(b.owner)
	}
	return newInner(b.owner, b.kids.peaks != nil)
}

// copy returns a copy of b for another owner.
func (b *block) copy(o *owner) *block {
	c := b.sibling()
	kids, codes := c.kids, c.codes
	*c = *b
	c.owner, c.kids, c.codes = o, kids, codes
	if kids != nil {
		kids.copy(b.kids)
	} else {
		*codes = *b.codes
	}
	return c
}

// copy makes k what other is, of whose kids none is the writer's.
func (k *kids) copy(other *kids) {
	k.at, k.size = other.at, other.size
	if k.peaks != nil {
		*k.peaks = *other.peaks
	}
}

// search returns the first item that has a greater key, or this key and comes behind, or n; behind must hold for all that follow.
func (b *block) search(k key, behind func(*block, int) bool) int {
	return sort.Search(b.n, func(i int) bool {
		return b.briefs[i].key > k || b.briefs[i].key == k && behind(b, i)
	})
}

// insert puts an entry at i.
func (b *block) insert(i int, at brief, e *entry) {
	b.open(i)
	b.set(i, at, e)
}

// set makes e the entry at i.
func (b *block) set(i int, at brief, e *entry) {
	b.briefs[i], b.items[i], b.codes[i] = at, e, e.code
	if b.top != nil {
		b.top = b.top.raised(e.Free)
	}
}

// insertKid puts a block at i.
func (b *block) insertKid(i int, kid *block) {
	b.open(i)
	b.setKid(i, kid)
}

// setKid makes kid, which is the writer's and not empty, the block at i.
func (b *block) setKid(i int, kid *block) {
	b.kids.at[i], b.briefs[i], b.items[i] = kid, kid.briefs[0], kid.items[0]
	b.kids.wrote |= 1 << i
}

// open makes room at i.
func (b *block) open(i int) {
	copy(b.briefs[i+1:], b.briefs[i:b.n])
	copy(b.items[i+1:], b.items[i:b.n])
	b.carry(i+1, b, span{i, b.n})
	b.n++
}

// remove closes the gap at i.
func (b *block) remove(i int) {
	copy(b.briefs[i:], b.briefs[i+1:b.n])
	copy(b.items[i:], b.items[i+1:b.n])
	b.carry(i, b, span{i + 1, b.n})
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
	copy(b.briefs[b.n:], next.briefs[i:next.n])
	copy(b.items[b.n:], next.items[i:next.n])
	b.carry(b.n, next, span{i, next.n})
	b.n += next.n - i
	next.drop(next.n - i)
}

// carry copies what another block of the level has beside some of its items to i.
func (b *block) carry(i int, other *block, some span) {
	if b.kids != nil {
		b.kids.move(i, other.kids, some)
	} else {
		copy(b.codes[i:], other.codes[some.lo:some.hi])
	}
}

// move copies some of other's kids to i.
func (k *kids) move(i int, other *kids, some span) {
	copy(k.at[i:], other.at[some.lo:some.hi])
	copy(k.size[i:], other.size[some.lo:some.hi])
	k.wrote = allKids
	if k.peaks != nil {
		copy(k.peaks[i:], other.peaks[some.lo:some.hi])
	}
}

// span is a range of ranks: from lo, to before hi.
type span struct{ lo, hi int }
