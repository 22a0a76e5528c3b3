package distbucket

import "sort"

// page is a node of the B-tree: up to fanout items in order, with room for one more before it splits.
// Item i is an entry in a leaf page, and the first entry below child i in an inner page.
//
// A page whose owner is its tree's owner is private to the writer, which changes it in place. All other
// pages are reachable from views and never change.
type page struct {
	owner      *owner
	children   *children // nil in a leaf page
	codes      *codes    // nil in an inner page
	exactMax   *exactMax // covers everything below; nil until the next freeze
	n          int
	separators [fanout + 1]separator // of items
	items      [fanout + 1]*entry
}

// fanout is the most items in a page. Pages but the root have at least fanout/2.
//
// Small pages make updates cheap: an update copies each page between the root and the entry that a
// view can reach.
const fanout = 9

// owner identifies the version that may write a page in place. It has a size, because pointers to
// distinct zero-size values may be equal.
type owner struct{ _ byte }

// separator is what a page stores of an item to route searches: its key and its label. The entry itself
// is elsewhere in memory and is read only where these are equal.
type separator struct{ key, label key }

// codes are the codes of the items of a leaf page.
type codes [fanout + 1]code

// children are the pages below an inner page, and summaries of them: the number of entries and, in a
// tree that is searched by amounts, their maxima. Summaries are valid in frozen pages only: freeze
// computes them once for all updates since the last view.
type children struct {
	pages   [fanout + 1]*page
	size    [fanout + 1]int32
	written bitset // children that may have changed since the last freeze
	maxima  *[fanout + 1]maxima
}

// bitset has one bit per child. It saves freeze from reading every child to find the written ones.
type bitset uint16

const allChildren bitset = 1<<(fanout+1) - 1

// has reports whether bit i is set.
func (b bitset) has(i int) bool { return b>>i&1 == 1 }

// A page and its variable part are one allocation, since they are read and copied together.
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

// newLeafPage returns an empty leaf page.
func newLeafPage(o *owner) *page {
	p := &leafPage{page: page{owner: o}}
	p.codes = &p.ownCodes
	return &p.page
}

// newInnerPage returns an empty inner page.
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

// emptyLike returns an empty page of the same kind and owner.
func (p *page) emptyLike() *page {
	if p.children == nil {
		return newLeafPage(p.owner)
	}
	return newInnerPage(p.owner, p.children.maxima != nil)
}

// copy returns a copy for another owner. No child of a copy counts as written.
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

// copy sets c to other, except for the written bits.
func (c *children) copy(other *children) {
	c.pages, c.size = other.pages, other.size
	if c.maxima != nil {
		*c.maxima = *other.maxima
	}
}

// search returns the first item that has a greater key, or the same key and isAfter, or p.n if there is
// none. If isAfter is true for an item, it must be true for all items of this key that follow.
func (p *page) search(k key, isAfter func(*page, int) bool) int {
	return sort.Search(p.n, func(i int) bool {
		return p.separators[i].key > k || p.separators[i].key == k && isAfter(p, i)
	})
}

// insert inserts an entry at i in a leaf page.
func (p *page) insert(i int, at separator, e *entry) {
	p.openGap(i)
	p.set(i, at, e)
}

// set replaces the entry at i in a leaf page.
func (p *page) set(i int, at separator, e *entry) {
	p.separators[i], p.items[i], p.codes[i] = at, e, e.code
	if p.exactMax != nil {
		p.exactMax = p.exactMax.raisedTo(e.Free)
	}
}

// insertChild inserts a child at i in an inner page.
func (p *page) insertChild(i int, child *page) {
	p.openGap(i)
	p.setChild(i, child)
}

// setChild replaces the child at i by one that the writer owns and that is not empty.
func (p *page) setChild(i int, child *page) {
	p.children.pages[i], p.separators[i], p.items[i] = child, child.separators[0], child.items[0]
	p.children.written |= 1 << i
}

// openGap moves the items from i on up by one.
func (p *page) openGap(i int) {
	copy(p.separators[i+1:], p.separators[i:p.n])
	copy(p.items[i+1:], p.items[i:p.n])
	p.copyPayload(i+1, p, span{i, p.n})
	p.n++
}

// remove removes item i.
func (p *page) remove(i int) {
	copy(p.separators[i:], p.separators[i+1:p.n])
	copy(p.items[i:], p.items[i+1:p.n])
	p.copyPayload(i, p, span{i + 1, p.n})
	p.dropLast(1)
}

// dropLast removes the last items and clears their pointers for the garbage collector.
func (p *page) dropLast(count int) {
	clear(p.items[p.n-count : p.n])
	if p.children != nil {
		clear(p.children.pages[p.n-count : p.n])
	}
	p.n -= count
}

// appendFrom moves the items of next from i on to the end of p, which must have room.
func (p *page) appendFrom(next *page, i int) {
	copy(p.separators[p.n:], next.separators[i:next.n])
	copy(p.items[p.n:], next.items[i:next.n])
	p.copyPayload(p.n, next, span{i, next.n})
	p.n += next.n - i
	next.dropLast(next.n - i)
}

// copyPayload copies to i what another page of the same kind stores beside some of its items: children
// and their summaries, or codes.
func (p *page) copyPayload(i int, other *page, some span) {
	if p.children != nil {
		p.children.copyFrom(i, other.children, some)
	} else {
		copy(p.codes[i:], other.codes[some.lo:some.hi])
	}
}

// copyFrom copies some children of other to i. It marks all as written, since positions have changed.
func (c *children) copyFrom(i int, other *children, some span) {
	copy(c.pages[i:], other.pages[some.lo:some.hi])
	copy(c.size[i:], other.size[some.lo:some.hi])
	c.written = allChildren
	if c.maxima != nil {
		copy(c.maxima[i:], other.maxima[some.lo:some.hi])
	}
}

// span is the half-open range [lo, hi).
type span struct{ lo, hi int }
