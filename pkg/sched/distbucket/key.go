package distbucket

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// key is the integer that a tree compares first to order entries. So a search compares integers in
// a page, and rarely follows a pointer to an entry.
type key uint64

// packCoord packs a coordinate into a key that keeps the lexicographic order. It also returns how many
// low bits are left, and whether the key is exact: no other coordinate of this length has it.
//
// A number c ≥ 0 is written as its bit length plus one, in 6 bits, and then its bits after the leading
// one (an order-preserving Elias gamma code):
//
//	(5, 0)  ↦  000100 01  000001
//
// Small numbers take few bits, so six dimensions usually fit. Bits that do not fit are cut off.
// This can make keys equal, but never reverses their order. Comparisons of equal keys then compare
// the coordinates. Negative numbers are written as 000000 and numbers from 2⁵⁸ on as 111111;
// nothing follows them.
//
// A fixed width per dimension was rejected: it cuts off amounts in bytes and wastes bits on GPUs.
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

// packNumber returns the bits for c, how many they are, and whether no other number has them.
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

// compareLeaf orders entries by coordinate. It returns 0 for entries of the same leaf bucket, and reads
// coordinates only where keys cannot tell.
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

// coordKeyOf is the key of the tree by coordinate.
func coordKeyOf(e *entry) key { return e.coordKey }

// labelKeyOf is the key of the tree by name.
func labelKeyOf(e *entry) key { return e.label }

// noKey is for trees that are ordered by comparison alone.
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

// keyRange is the range of a bucket in the tree by coordinate: all entries whose coordinate begins with
// prefix. Their keys lie in [first, last]. Other coordinates can have these keys only where packing cut
// numbers off; then each entry has to be compared.
type keyRange struct {
	prefix      []int64
	first, last key
	exclusive   bool // no other coordinate has a key in [first, last]
}

// leafRange returns the leaf bucket of an entry.
func leafRange(e *entry) keyRange {
	return keyRange{prefix: e.coord, first: e.coordKey, last: e.coordKey, exclusive: e.exactKey}
}

// prefixRange returns the bucket with this prefix.
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

// seekAfterLabel returns the position in a leaf bucket after all labels up to this one.
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

// notBefore reports whether item i of a page, whose key is r.first, is in the range or after it.
func (r *keyRange) notBefore(p *page, i int) bool {
	return r.exclusive || comparePrefix(p.items[i].coord, r.prefix) >= 0
}

// after reports whether item i of a page, whose key is r.last, is after the range.
func (r *keyRange) after(p *page, i int) bool {
	return !r.exclusive && comparePrefix(p.items[i].coord, r.prefix) > 0
}

// contains reports whether an entry with a key in [first, last] is in the range.
func (r *keyRange) contains(e *entry) bool {
	return r.exclusive || comparePrefix(e.coord, r.prefix) == 0
}
