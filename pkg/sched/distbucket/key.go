package distbucket

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// key is an integer by which a B-tree orders its entries. Each page of the tree stores the keys of
// its items. So a search compares integers in a page, and rarely has to read an entry elsewhere in
// memory.
type key uint64

// packCoord packs a coordinate into a key. Keys have the lexicographic order of the coordinates.
// packCoord also returns how many low bits of the key are unused, and whether the key is exact. A
// key is exact if no other coordinate with the same number of dimensions has this key.
//
// Each number c ≥ 0 of the coordinate is written as its bit length plus one in 6 bits, followed by
// the bits of c after its leading 1 bit. This is a variant of the Elias gamma code that keeps the
// order of numbers. For example, 5 is 101 in binary: its bit length plus one is 4 (000100), and 01
// follows the leading 1 bit. The bit length of 0 is 0, so 0 is written as 000001:
//
//	(5, 0)  ↦  000100 01  000001
//
// Small numbers take few bits, so six dimensions usually fit into a key. Bits that do not fit are
// cut off. Different coordinates may then have equal keys, but the order is never reversed. If two
// keys are equal and not exact, the coordinates are compared. Negative numbers are written as
// 000000, and numbers from 2⁵⁸ on as 111111. Each of these two bit patterns stands for many
// numbers, so equal patterns do not mean equal numbers. The numbers after such a pattern are left
// out: they decide the order of two coordinates only if all numbers before them are equal, which
// the patterns do not show.
//
// A fixed number of bits for each dimension was rejected. It would be too small for amounts of
// memory in bytes, and larger than needed for numbers of GPUs.
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

// packNumber returns the bits that packCoord writes for the number c, how many they are, and
// whether no other number has the same bits.
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

// compareCoord orders entries by coordinate. Entries with equal coordinates, which are in the same
// leaf bucket, are ordered by name.
func compareCoord(a, b *entry) int {
	if c := compareLeaf(a, b); c != 0 {
		return c
	}
	return compareLabel(a, b)
}

// compareLeaf orders entries by coordinate. It returns 0 for entries with equal coordinates, which
// are in the same leaf bucket. It reads the coordinates only if the keys of both entries are equal
// and not exact.
func compareLeaf(a, b *entry) int {
	if c := cmp.Compare(a.coordKey, b.coordKey); c != 0 || a.exactKey {
		return c
	}
	return slices.Compare(a.coord, b.coord)
}

// compareLabel orders the entries of one index by name. It compares their labels, which are
// integers in the order of the names.
func compareLabel(a, b *entry) int { return cmp.Compare(a.label, b.label) }

// compareName orders entries by name. It is for trees whose entries have no labels.
func compareName(a, b *entry) int { return strings.Compare(a.Name, b.Name) }

// coordKeyOf returns the key that an entry has in the tree that is sorted by coordinate.
func coordKeyOf(e *entry) key { return e.coordKey }

// labelKeyOf returns the key that an entry has in the tree that is sorted by name.
func labelKeyOf(e *entry) key { return e.label }

// noKey returns the same key for all entries. It is for trees in which keys do not help to order
// entries, so that entries themselves are compared.
func noKey(*entry) key { return 0 }

// comparePrefix compares the first numbers of the coordinate x with `prefix`, lexicographically. It
// returns 0 if x begins with `prefix`.
func comparePrefix(x, prefix []int64) int {
	for l, want := range prefix {
		if c := cmp.Compare(x[l], want); c != 0 {
			return c
		}
	}
	return 0
}

// keyRange is the range of a bucket in the tree by coordinate: all entries whose coordinate begins
// with the field `prefix`. The keys of these entries are in [first, last]. If the prefix does not
// fit completely into a key (packCoord), entries whose coordinates begin with other numbers can
// have keys in this interval, too. In this case, the field `exclusive` is false, and the coordinate
// of each entry has to be compared with the prefix.
type keyRange struct {
	prefix      []int64
	first, last key
	exclusive   bool // no entry outside of the range has a key in [first, last]
}

// leafRange returns the range of the leaf bucket of an entry: all entries with the same
// coordinate.
func leafRange(e *entry) keyRange {
	return keyRange{prefix: e.coord, first: e.coordKey, last: e.coordKey, exclusive: e.exactKey}
}

// prefixRange returns the range of the bucket of all nodes whose coordinates begin with x.
func prefixRange(x []int64) keyRange {
	k, left, exact := packCoord(x)
	if !exact {
		return keyRange{prefix: x, first: k, last: k}
	}
	return keyRange{prefix: x, first: k, last: k | (1<<left - 1), exclusive: true}
}

// seekStart returns the position in the tree before the first entry of the range.
func (r *keyRange) seekStart(t *tree) iterator { return t.seek(r.first, r.notBefore) }

// seekEnd returns the position in the tree after the last entry of the range.
func (r *keyRange) seekEnd(t *tree) iterator { return t.seek(r.last, r.after) }

// seekAfterLabel returns the position in the tree before the first entry of the range whose label
// (an integer that stands for the node's name) is greater than the given label, or the end of the
// range if there is no such entry. The range must be that of a leaf bucket.
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

// notBefore reports whether item i of a page is in the range r or after r. It is called only for
// items whose key is r.first, so it need not compare keys.
func (r *keyRange) notBefore(p *page, i int) bool {
	return r.exclusive || comparePrefix(p.items[i].coord, r.prefix) >= 0
}

// The method `after` reports whether item i of a page is after the range r. It is called only for
// items whose key is r.last.
func (r *keyRange) after(p *page, i int) bool {
	return !r.exclusive && comparePrefix(p.items[i].coord, r.prefix) > 0
}

// contains reports whether an entry with a key in [first, last] is in the range.
func (r *keyRange) contains(e *entry) bool {
	return r.exclusive || comparePrefix(e.coord, r.prefix) == 0
}
