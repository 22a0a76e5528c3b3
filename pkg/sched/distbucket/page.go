package distbucket

import (
	"sort"
)

// fan is the most items in a block.
const fanout = 9

// owner is who may write a block in place. It has a size, so that two of them are two.
type owner struct{ _ byte }

// block is a node of a tree (the word node being taken): up to fan items in order. Item i is an entry, or in an inner block the first entry of
// kid i.
type page struct {
	owner      *owner
	children   *children // nil at the lowest level
	codes      *codes    // of items, at the lowest level
	exactMax   *exactMax // nothing below exceeds it; nil is for one that seal has yet to make
	n          int
	separators [fanout + 1]separator // of items
	items      [fanout + 1]*entry
}

// brief is what blocks say of an entry, so that a search seldom has to look at one, which is elsewhere in memory.
type separator struct{ key, label key }

// codes are those of the items of a block. An inner one has none to copy.
type codes [fanout + 1]code

// kids are the blocks below an inner block, and what seal says of each: the number of entries at and below it, and in a tree that is searched by
// amounts the peaks of their codes.
type children struct {
	pages   [fanout + 1]*page
	size    [fanout + 1]int32
	written bitset
	maxima  *[fanout + 1]maxima
}

// marks say, one bit each, which kids may be the writer's: who seals would else have to look at all of them, which are elsewhere in memory.
type bitset uint16

const allChildren bitset = 1<<(fanout+1) - 1

func (b bitset) has(i int) bool { return b>>i&1 == 1 }

// A block and what it has beside its items are one piece of memory, for they are looked at and copied together.
type (
	leafPage struct {
		page
		ownCodes codes
	}
	innerPage struct {
		page
		ownChildren children
	}
	innerPageWithMaxima struct {
		innerPage
		ownMaxima [fanout + 1]maxima
	}
)

// newLowest returns an empty block of the lowest level.
func newLeafPage(o *owner) *page {
	p := &leafPage{page: page{owner: o}}
	p.codes = &p.ownCodes
	return &p.page
}

// newInner returns an empty inner block, which says what is free below or does not.
func newInnerPage(o *owner, hasMaxima bool) *page {
	if hasMaxima {
		p := &innerPageWithMaxima{innerPage: innerPage{page: page{owner: o}}}
		p.children, p.ownChildren.maxima = &p.ownChildren, &p.ownMaxima
		return &p.page
	}
	p := &innerPage{page: page{owner: o}}
	p.children = &p.ownChildren
	return &p.page
}

// sibling returns an empty block of the same owner and level.
func (p *page) emptyLike() *page {
	if p.children == nil {
		return newLeafPage(p.owner)
	}
	return newInnerPage(p.owner, p.children.maxima != nil)
}

// copy returns a copy of b for another owner.
func (p *page) copy(o *owner) *page {
	c := p.emptyLike()
	children, codes := c.children, c.codes
	*c = *p
	c.owner, c.children, c.codes = o, children, codes
	if children != nil {
		children.copy(p.children)
	} else {
		*codes = *p.codes
	}
	return c
}

// copy makes k what other is, of whose kids none is the writer's.
func (c *children) copy(other *children) {
	c.pages, c.size = other.pages, other.size
	if c.maxima != nil {
		*c.maxima = *other.maxima
	}
}

// search returns the first item that has a greater key, or this key and comes behind, or n; behind must hold for all that follow.
func (p *page) search(k key, isAfter func(*page, int) bool) int {
	return sort.Search(p.n, func(i int) bool {
		return p.separators[i].key > k || p.separators[i].key == k && isAfter(p, i)
	})
}

// insert puts an entry at i.
func (p *page) insert(i int, at separator, e *entry) {
	p.openGap(i)
	p.set(i, at, e)
}

// set makes e the entry at i.
func (p *page) set(i int, at separator, e *entry) {
	p.separators[i], p.items[i], p.codes[i] = at, e, e.code
	if p.exactMax != nil {
		p.exactMax = p.exactMax.raisedTo(e.Free)
	}
}

// insertKid puts a block at i.
func (p *page) insertChild(i int, child *page) {
	p.openGap(i)
	p.setChild(i, child)
}

// setKid makes kid, which is the writer's and not empty, the block at i.
func (p *page) setChild(i int, child *page) {
	p.children.pages[i], p.separators[i], p.items[i] = child, child.separators[0], child.items[0]
	p.children.written |= 1 << i
}

// open makes room at i.
func (p *page) openGap(i int) {
	copy(p.separators[i+1:], p.separators[i:p.n])
	copy(p.items[i+1:], p.items[i:p.n])
	p.copyPayload(i+1, p, span{i, p.n})
	p.n++
}

// remove closes the gap at i.
func (p *page) remove(i int) {
	copy(p.separators[i:], p.separators[i+1:p.n])
	copy(p.items[i:], p.items[i+1:p.n])
	p.copyPayload(i, p, span{i + 1, p.n})
	p.dropLast(1)
}

// drop forgets the last items, so that nothing is kept from the garbage collector.
func (p *page) dropLast(count int) {
	clear(p.items[p.n-count : p.n])
	if p.children != nil {
		clear(p.children.pages[p.n-count : p.n])
	}
	p.n -= count
}

// append moves the items of next from i on behind those of b. There must be room.
func (p *page) appendFrom(next *page, i int) {
	copy(p.separators[p.n:], next.separators[i:next.n])
	copy(p.items[p.n:], next.items[i:next.n])
	p.copyPayload(p.n, next, span{i, next.n})
	p.n += next.n - i
	next.dropLast(next.n - i)
}

// carry copies what another block of the level has beside some of its items to i.
func (p *page) copyPayload(i int, other *page, some span) {
	if p.children != nil {
		p.children.copyFrom(i, other.children, some)
	} else {
		copy(p.codes[i:], other.codes[some.lo:some.hi])
	}
}

// move copies some of other's kids to i.
func (c *children) copyFrom(i int, other *children, some span) {
	copy(c.pages[i:], other.pages[some.lo:some.hi])
	copy(c.size[i:], other.size[some.lo:some.hi])
	c.written = allChildren
	if c.maxima != nil {
		copy(c.maxima[i:], other.maxima[some.lo:some.hi])
	}
}

// span is a range of ranks: from lo, to before hi.
type span struct{ lo, hi int }
