package bucket

import "slices"

// fan is the most items in a block. 15 and one on the way in make 16, a size the allocator has. docs/performance.md has others measured.
const fan = 15

// owner is who may write a block in place. It has a size, so that two of them are two.
type owner struct{ _ byte }

// block is a node of the tree (the word node being taken): up to fan items in order. Item i is an entry, or in an inner block the first entry
// of kid i. Row i of tops holds what is most, in each dimension, among the entries at and below item i; a tree that prunes nothing has no rows.
type block struct {
	owner *owner
	items []*entry
	kids  []*block // nil at the lowest level
	sizes []int32  // entries below each kid
	tops  []int64
}

// low and high carry the arrays that a block's slices point into, which saves allocations.
type (
	low struct {
		block
		itemsAt [fan + 1]*entry
	}
	high struct {
		low
		kidsAt  [fan + 1]*block
		sizesAt [fan + 1]int32
	}
)

// newBlock returns an empty block, with a row of dims maxima per item.
func newBlock(o *owner, inner bool, dims int) *block {
	var b *block
	if inner {
		h := &high{}
		h.items, h.kids, h.sizes = h.itemsAt[:0], h.kidsAt[:0], h.sizesAt[:0]
		b = &h.block
	} else {
		l := &low{}
		l.items = l.itemsAt[:0]
		b = &l.block
	}
	b.owner, b.tops = o, make([]int64, 0, (fan+1)*dims)
	return b
}

// size returns the number of entries at and below b.
func (b *block) size() int {
	if b.kids == nil {
		return len(b.items)
	}
	n := 0
	for _, s := range b.sizes {
		n += int(s)
	}
	return n
}

// row returns the maxima of item i.
func (b *block) row(i, dims int) Vector { return b.tops[i*dims : (i+1)*dims] }

// insert makes room for an item at i.
func (b *block) insert(i int, e *entry, kid *block, dims int) {
	b.items = slices.Insert(b.items, i, e)
	if b.kids != nil {
		b.kids, b.sizes = slices.Insert(b.kids, i, kid), slices.Insert(b.sizes, i, 0)
	}
	b.tops = b.tops[:len(b.items)*dims]
	copy(b.tops[(i+1)*dims:], b.tops[i*dims:])
	b.refresh(i, dims)
}

// delete closes the gap at i.
func (b *block) delete(i, dims int) {
	b.items = slices.Delete(b.items, i, i+1)
	if b.kids != nil {
		b.kids, b.sizes = slices.Delete(b.kids, i, i+1), slices.Delete(b.sizes, i, i+1)
	}
	b.tops = slices.Delete(b.tops, i*dims, (i+1)*dims)
}

// refresh brings up to date what b knows of item i.
func (b *block) refresh(i, dims int) {
	if b.kids == nil {
		copy(b.row(i, dims), b.items[i].Free)
		return
	}
	kid := b.kids[i]
	b.items[i], b.sizes[i] = kid.items[0], int32(kid.size())
	top := b.row(i, dims)
	copy(top, kid.tops)
	for at := dims; at < len(kid.tops); at += dims {
		for d, v := range kid.tops[at : at+dims] {
			top[d] = max(top[d], v)
		}
	}
}

// move appends the items of src from i on to b.
func (b *block) move(src *block, i, dims int) {
	b.items = append(b.items, src.items[i:]...)
	b.tops = append(b.tops, src.tops[i*dims:]...)
	if src.kids != nil {
		b.kids, b.sizes = append(b.kids, src.kids[i:]...), append(b.sizes, src.sizes[i:]...)
	}
}

// cut drops the items from i on.
func (b *block) cut(i, dims int) {
	clear(b.items[i:])
	b.items, b.tops = b.items[:i], b.tops[:i*dims]
	if b.kids != nil {
		clear(b.kids[i:])
		b.kids, b.sizes = b.kids[:i], b.sizes[:i]
	}
}
