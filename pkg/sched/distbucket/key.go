package distbucket

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// key is an integer by which a tree orders its entries. Pages have the keys of their items. So a
// search compares integers in a page, and rarely has to read an entry elsewhere in memory.
type key uint64

// packCoord packs a coordinate into a key. Keys have the lexicographic order of the coordinates.
// packCoord also returns how many low bits of the key are unused, and whether the key is exact: no
// other coordinate with the same number of dimensions has it.
//
// A number c ≥ 0 is written as its bit length plus one in 6 bits, followed by the bits of c after
// its leading 1 bit. This is a variant of the Elias gamma code that keeps the order of numbers. For
// example:
//
//	(5, 0)  ↦  000100 01  000001
//
// Small numbers take few bits, so six dimensions usually fit into a key. Bits that do not fit are
// cut off. Different coordinates may then have equal keys, but the order is never reversed. If two
// keys are equal and not exact, the coordinates are compared. Negative numbers are written as
// 000000, and numbers from 2⁵⁸ on as 111111. After such a number, the rest of the coordinate is left
// out.
//
// A fixed number of bits for each dimension was rejected. It is too small for amounts of memory in
// bytes, and too large for numbers of GPUs.
func packCoord(x []int64) (k key, left int, exact bool) {
	left = 64
	for _, c := range x {
		code, width, unique := packNumber(c)
		if width > left {
			return k | code>>(width-left), 0, false
		}
		left -= width
		k |= code << left
		if !unique {
			return k, left, false
		}
	}
	return k, left, true
}

// packNumber returns the bits for c, the number of these bits, and whether no other number has the
// same bits.
func packNumber(c int64) (code key, width int, exact bool) {
	length := bits.Len64(uint64(c))
	switch rest := max(length-1, 0); {
	case c < 0:
		return 0, 6, false
	case length > 58:
		return 63, 6, false
	default:
		return key(1+length)<<rest | key(c)&(1<<rest-1), 6 + rest, true
	}
}

// compareCoord orders entries by coordinate, and by name within a leaf bucket.
func compareCoord(a, b *entry) int {
	if c := compareLeaf(a, b); c != 0 {
		return c
	}
	return compareLabel(a, b)
}

// compareLeaf orders entries by coordinate. It returns 0 for entries of the same leaf bucket. It
// reads the coordinates only if the keys are equal and not exact.
func compareLeaf(a, b *entry) int {
	if c := cmp.Compare(a.coordKey, b.coordKey); c != 0 || a.exactKey {
		return c
	}
	return slices.Compare(a.coord, b.coord)
}

// compareLabel orders the entries of one index by name.
func compareLabel(a, b *entry) int { return cmp.Compare(a.label, b.label) }

// compareName orders entries by name. Trees without labels use it.
func compareName(a, b *entry) int { return strings.Compare(a.Name, b.Name) }

// coordKeyOf returns the key of an entry in the tree by coordinate.
func coordKeyOf(e *entry) key { return e.coordKey }

// labelKeyOf returns the key of an entry in the tree by name.
func labelKeyOf(e *entry) key { return e.label }

// noKey returns the same key for all entries. It is for trees that are ordered only by comparing
// entries.
func noKey(*entry) key { return 0 }

// comparePrefix compares coordinates lexicographically. A prefix equals every coordinate that begins
// with it.
func comparePrefix(x, prefix []int64) int {
	for l, want := range prefix {
		if c := cmp.Compare(x[l], want); c != 0 {
			return c
		}
	}
	return 0
}

// keyRange is the range of a bucket in the tree by coordinate: all entries whose coordinate begins
// with prefix. Their keys are in [first, last]. Other coordinates can have keys in this interval
// too, but only if the key of the prefix is not exact (packCoord). Then each entry has to be
// compared with the prefix.
type keyRange struct {
	prefix      []int64
	first, last key
	exclusive   bool // no other coordinate has a key in [first, last]
}

// leafRange returns the range of the leaf bucket of an entry.
func leafRange(e *entry) keyRange {
	return keyRange{prefix: e.coord, first: e.coordKey, last: e.coordKey, exclusive: e.exactKey}
}

// prefixRange returns the range of the bucket whose coordinates begin with x.
func prefixRange(x []int64) keyRange {
	k, left, exact := packCoord(x)
	if !exact {
		return keyRange{prefix: x, first: k, last: k}
	}
	return keyRange{prefix: x, first: k, last: k | (1<<left - 1), exclusive: true}
}

// seekStart returns the position before the first entry of the range.
func (r *keyRange) seekStart(t *tree) iterator { return t.seek(r.first, r.notBefore) }

// seekEnd returns the position after the last entry of the range.
func (r *keyRange) seekEnd(t *tree) iterator { return t.seek(r.last, r.after) }

// seekAfterLabel returns the position in a leaf bucket behind the entries whose labels are at most
// label.
func (r *keyRange) seekAfterLabel(t *tree, label key) iterator {
	return t.seek(r.first, func(p *page, i int) bool {
		if !r.exclusive {
			if c := comparePrefix(p.items[i].coord, r.prefix); c != 0 {
				return c > 0
			}
		}
		return p.separators[i].label > label
	})
}

// notBefore reports whether item i of a page is in the range or after it. The key of the item must
// be r.first.
func (r *keyRange) notBefore(p *page, i int) bool {
	return r.exclusive || comparePrefix(p.items[i].coord, r.prefix) >= 0
}

// after reports whether item i of a page is after the range. The key of the item must be r.last.
func (r *keyRange) after(p *page, i int) bool {
	return !r.exclusive && comparePrefix(p.items[i].coord, r.prefix) > 0
}

// contains reports whether an entry with a key in [first, last] is in the range.
func (r *keyRange) contains(e *entry) bool {
	return r.exclusive || comparePrefix(e.coord, r.prefix) == 0
}
