package distbucket

import "sort"

// page is a node of the B-tree. It has up to fanout items in order, and room for one more item.
// When it has fanout+1 items, it is split. In a leaf page, items are the entries of the tree. In an
// inner page, item i is the first entry below child i.
//
// A page has the owner that its tree had when the page was made. When a view (a snapshot of the
// tree) is made, the tree gets a new owner. So if a page has the same owner as the tree, no view
// was made after the page, and only the writer can reach the page: it changes the page in place.
// All other pages may be reached by views, so they never change.
type page struct {
	owner      *owner
	children   *children // nil in a leaf page
	codes      *codes    // nil in an inner page
	exactMax   *exactMax // upper bounds of the free amounts of all entries below; nil if tree.freeze, which is called for each new view, has to compute them
	n          int
	separators [fanout + 1]separator // separators[i] is the separator of items[i]
	items      [fanout + 1]*entry
}

// fanout is the largest number of items of a page. Each page except the root has at least fanout/2
// items.
//
// An update copies the pages between the root and the entry, except for pages that no view can
// reach. Copies of small pages are cheap, so fanout is small.
const fanout = 9

// owner tells whether a page may be changed in place: this is so if the page has the same owner as
// the tree. Owners are compared by their address. The struct is not empty, because pointers to
// different zero-size values may be equal.
type owner struct{ _ byte }

// separator has the two integers by which the items of a page are compared: the key, and the label,
// which stands for the name of the node (see assignLabel). Pages store the separators of their
// items, so a search can compare items without reading the entries themselves, which are elsewhere
// in memory. It has to read them only if two keys are equal and the labels do not decide the order
// of the entries either. In the tree by coordinate, this happens if the coordinates do not fit into
// 64 bits: the key has only the first bits (packCoord).
type separator struct{ key, label key }

// codes are the codes of the items of a leaf page, by index of the item. A code is a vector of free
// amounts in a compressed form of 16 bytes, in which the amounts are rounded down.
type codes [fanout + 1]code

// children has the pages directly below an inner page, and summaries of each of them: the number of
// entries below it and, in a tree that is searched by free amounts, upper bounds of the free
// amounts of these entries (see the type `maxima`). Summaries are valid only after a call of the
// method `freeze`, which computes them once for all updates since the last view.
type children struct {
	pages   [fanout + 1]*page
	size    [fanout + 1]int32
	written bitset // bit i is set if child i may have changed since the last freeze
	maxima  *[fanout + 1]maxima
}

// bitset has one bit for each child of an inner page. The bits mark the children that were written,
// so that the method `freeze` need not read every child to find them.
type bitset uint16

const allChildren bitset = 1<<(fanout+1) - 1

// has reports whether bit i is set.
func (b bitset) has(i int) bool { return b>>i&1 == 1 }

// There is one type for each kind of page. A value of the type has the struct page and the data
// that only pages of this kind need. Both are in one allocation, because they are read and
// copied together.
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

// newInnerPage returns an empty inner page. If hasMaxima is set, the page has room for the maxima
// of its children.
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

// emptyLike returns an empty page of the same kind and with the same owner as p.
func (p *page) emptyLike() *page {
	if p.children == nil {
		return newLeafPage(p.owner)
	}
	return newInnerPage(p.owner, p.children.maxima != nil)
}

// copy returns a copy of p that belongs to the owner o. In the copy, no child is marked as changed
// (children.written).
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

// copy copies the children of another page and their summaries to c. It does not copy the field
// `written`.
func (c *children) copy(other *children) {
	c.pages, c.size = other.pages, other.size
	if c.maxima != nil {
		*c.maxima = *other.maxima
	}
}

// search returns the index of the first item that comes after k, or p.n if there is none. An item
// comes after k if its key is greater than k, or if its key is k and isAfter returns true for it.
// If isAfter returns true for an item, it must return true for all later items with the key k.
func (p *page) search(k key, isAfter func(*page, int) bool) int {
	return sort.Search(p.n, func(i int) bool {
		return p.separators[i].key > k || p.separators[i].key == k && isAfter(p, i)
	})
}

// insert inserts an entry at index i of a leaf page.
func (p *page) insert(i int, at separator, e *entry) {
	p.openGap(i)
	p.set(i, at, e)
}

// set replaces the entry at index i of a leaf page.
func (p *page) set(i int, at separator, e *entry) {
	p.separators[i], p.items[i], p.codes[i] = at, e, e.code
	if p.exactMax != nil {
		p.exactMax = p.exactMax.raisedTo(e.Free)
	}
}

// insertChild inserts a child at index i of an inner page.
func (p *page) insertChild(i int, child *page) {
	p.openGap(i)
	p.setChild(i, child)
}

// setChild replaces the child at index i of an inner page. The new child must not be empty, and
// must have the same owner as the tree.
func (p *page) setChild(i int, child *page) {
	p.children.pages[i], p.separators[i], p.items[i] = child, child.separators[0], child.items[0]
	p.children.written |= 1 << i
}

// openGap makes room at index i: it moves each item from index i on to the next index.
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

// dropLast removes the last count items. It clears their pointers, so that the garbage collector
// can free what they refer to.
func (p *page) dropLast(count int) {
	clear(p.items[p.n-count : p.n])
	if p.children != nil {
		clear(p.children.pages[p.n-count : p.n])
	}
	p.n -= count
}

// appendFrom moves items from another page (the parameter `next`) to the end of p: item i of that
// page and all items after it. p must have room for them.
func (p *page) appendFrom(next *page, i int) {
	copy(p.separators[p.n:], next.separators[i:next.n])
	copy(p.items[p.n:], next.items[i:next.n])
	p.copyPayload(p.n, next, span{i, next.n})
	p.n += next.n - i
	next.dropLast(next.n - i)
}

// copyPayload copies what another page stores for a range of its items (the parameter `some`): the
// codes of a leaf page, or the children of an inner page and their summaries. It stores the copies
// in p from index i on. Both pages must be of the same kind.
func (p *page) copyPayload(i int, other *page, some span) {
	if p.children != nil {
		p.children.copyFrom(i, other.children, some)
	} else {
		copy(p.codes[i:], other.codes[some.lo:some.hi])
	}
}

// copyFrom copies a range (the parameter `some`) of the children of another page, and stores the
// copies in c from index i on. It sets all bits of c.written, because a bit stands for an index, and
// the child at each index may now be another one.
func (c *children) copyFrom(i int, other *children, some span) {
	copy(c.pages[i:], other.pages[some.lo:some.hi])
	copy(c.size[i:], other.size[some.lo:some.hi])
	c.written = allChildren
	if c.maxima != nil {
		copy(c.maxima[i:], other.maxima[some.lo:some.hi])
	}
}

// span is the range of indexes from lo (included) to hi (not included).
type span struct{ lo, hi int }
