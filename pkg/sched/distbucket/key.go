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
func packX(x []int64) (k key, left int, whole bool) {
	left = 64
	for _, c := range x {
		code, width, exact := gamma(c)
		if width > left {
			return k | code>>(width-left), 0, false
		}
		left -= width
		k |= code << left
		if !exact {
			return k, left, false
		}
	}
	return k, left, true
}

// gamma returns the code of a number in a key, its width in bits, and whether no other number has it.
func gamma(c int64) (code key, width int, exact bool) {
	length := bits.Len64(uint64(c))
	switch behind := max(length-1, 0); {
	case c < 0:
		return 0, 6, false
	case length > 58:
		return 63, 6, false
	default:
		return key(1+length)<<behind | key(c)&(1<<behind-1), 6 + behind, true
	}
}

// byX orders by coordinate, and by name within a leaf.
func byX(a, b *entry) int {
	if c := byLeaf(a, b); c != 0 {
		return c
	}
	return byLabel(a, b)
}

// byLeaf orders by coordinate, and reads coordinates only where keys do not tell.
func byLeaf(a, b *entry) int {
	if c := cmp.Compare(a.keyX, b.keyX); c != 0 || a.whole {
		return c
	}
	return slices.Compare(a.x, b.x)
}

// byLabel orders the entries of an index by name.
func byLabel(a, b *entry) int { return cmp.Compare(a.label, b.label) }

func byName(a, b *entry) int { return strings.Compare(a.Name, b.Name) }

func keyX(e *entry) key { return e.keyX }

func keyLabel(e *entry) key { return e.label }

// keyless is for orders without a first word.
func keyless(*entry) key { return 0 }

// compareX orders coordinates lexicographically; a prefix comes with all that begin with it.
func compareX(x, prefix []int64) int {
	for l, want := range prefix {
		if c := cmp.Compare(x[l], want); c != 0 {
			return c
		}
	}
	return 0
}

// place is where the entries are, in a tree by coordinate, whose coordinate begins with x: a bucket.
type place struct {
	x           []int64
	first, last key  // theirs are between
	whole       bool // and no other's
}

// leafOf returns the leaf of an entry.
func leafOf(e *entry) place { return place{x: e.x, first: e.keyX, last: e.keyX, whole: e.whole} }

func placeOf(x []int64) place {
	k, left, whole := packX(x)
	if !whole {
		return place{x: x, first: k, last: k}
	}
	return place{x: x, first: k, last: k | (1<<left - 1), whole: true}
}

// begin returns the place before all of them.
func (r *place) begin(t *tree) iterator { return t.seek(r.first, r.reached) }

// end returns the place behind all of them.
func (r *place) end(t *tree) iterator { return t.seek(r.last, r.passed) }

// behind returns the place behind a label in a leaf.
func (r *place) behind(t *tree, label key) iterator {
	return t.seek(r.first, func(p *page, i int) bool {
		if !r.whole {
			if c := compareX(p.items[i].x, r.x); c != 0 {
				return c > 0
			}
		}
		return p.separators[i].label > label
	})
}

// reached says whether item i of a block, which has the first key, is not before x.
func (r *place) reached(b *page, i int) bool { return r.whole || compareX(b.items[i].x, r.x) >= 0 }

// passed says whether item i of a block, which has the last key, is behind x.
func (r *place) passed(b *page, i int) bool { return !r.whole && compareX(b.items[i].x, r.x) > 0 }

// has says whether an entry whose key is between first and last is one of them.
func (r *place) has(e *entry) bool { return r.whole || compareX(e.x, r.x) == 0 }
