package distbucket

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// key is the first word of what a tree orders entries by.
type key uint64

// packX returns the key of coordinate x, how many of its 64 bits are left, and whether it is whole: no other coordinate of as many numbers has it.
// Each number c is written as 1 + its length in 6 bits and then its bits behind the first one, so that of two keys the greater one has the
// greater number where they first differ:
//
//	5, 0  ↦  000100 01  000001
//
// What has no room is cut off. Nothing follows a number that is negative, which is written as 000000, or 2⁵⁸ and more, 111111: the key is not
// whole then.
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

// gamma returns the code of a number in a key, its width in bits, and whether no other number has it.
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

// byX orders by coordinate, and by name within a leaf.
func compareCoord(a, b *entry) int {
	if c := compareLeaf(a, b); c != 0 {
		return c
	}
	return compareLabel(a, b)
}

// byLeaf orders by coordinate, and reads coordinates only where keys do not tell.
func compareLeaf(a, b *entry) int {
	if c := cmp.Compare(a.coordKey, b.coordKey); c != 0 || a.exactKey {
		return c
	}
	return slices.Compare(a.coord, b.coord)
}

// byLabel orders the entries of an index by name.
func compareLabel(a, b *entry) int { return cmp.Compare(a.label, b.label) }

func compareName(a, b *entry) int { return strings.Compare(a.Name, b.Name) }

func coordKeyOf(e *entry) key { return e.coordKey }

func labelKeyOf(e *entry) key { return e.label }

// keyless is for orders without a first word.
func noKey(*entry) key { return 0 }

// compareX orders coordinates lexicographically; a prefix comes with all that begin with it.
func comparePrefix(x, prefix []int64) int {
	for l, want := range prefix {
		if c := cmp.Compare(x[l], want); c != 0 {
			return c
		}
	}
	return 0
}

// place is where the entries are, in a tree by coordinate, whose coordinate begins with x: a bucket.
type keyRange struct {
	prefix      []int64
	first, last key  // theirs are between
	exclusive   bool // and no other's
}

// leafOf returns the leaf of an entry.
func leafRange(e *entry) keyRange {
	return keyRange{prefix: e.coord, first: e.coordKey, last: e.coordKey, exclusive: e.exactKey}
}

func prefixRange(x []int64) keyRange {
	k, left, exact := packCoord(x)
	if !exact {
		return keyRange{prefix: x, first: k, last: k}
	}
	return keyRange{prefix: x, first: k, last: k | (1<<left - 1), exclusive: true}
}

// begin returns the place before all of them.
func (r *keyRange) seekStart(t *tree) iterator { return t.seek(r.first, r.notBefore) }

// end returns the place behind all of them.
func (r *keyRange) seekEnd(t *tree) iterator { return t.seek(r.last, r.after) }

// behind returns the place behind a label in a leaf.
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

// reached says whether item i of a block, which has the first key, is not before x.
func (r *keyRange) notBefore(p *page, i int) bool {
	return r.exclusive || comparePrefix(p.items[i].coord, r.prefix) >= 0
}

// passed says whether item i of a block, which has the last key, is behind x.
func (r *keyRange) after(p *page, i int) bool {
	return !r.exclusive && comparePrefix(p.items[i].coord, r.prefix) > 0
}

// has says whether an entry whose key is between first and last is one of them.
func (r *keyRange) contains(e *entry) bool {
	return r.exclusive || comparePrefix(e.coord, r.prefix) == 0
}
