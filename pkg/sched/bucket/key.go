package bucket

import (
	"cmp"
	"slices"
	"strings"
)

// key is the first word of what a tree orders entries by. Blocks hold the keys of their items, so that a search seldom has to look at an entry,
// which is elsewhere in memory.
type key uint64

// byX orders by coordinate, and by name within a leaf.
func byX(a, b *entry) int {
	if c := cmp.Compare(a.keyX, b.keyX); c != 0 {
		return c
	}
	if c := slices.Compare(a.x, b.x); c != 0 {
		return c
	}
	return byName(a, b)
}

// byZ orders by the place on a Z-order curve.
func byZ(a, b *entry) int {
	if c := cmp.Compare(a.keyZ, b.keyZ); c != 0 {
		return c
	}
	return byName(a, b)
}

func byName(a, b *entry) int { return strings.Compare(a.Name, b.Name) }

func keyX(e *entry) key { return e.keyX }
func keyZ(e *entry) key { return e.keyZ }

// keyless is for orders without a first word.
func keyless(*entry) key { return 0 }

// packX returns the key of coordinate x, and for a prefix what the keys of coordinates that begin with it may have set besides. The key holds
// the first coordinates as lanes, up to the first one that its lane does not tell from its neighbours: so it decides only what the coordinates
// decide, and those of a coarse θ are in it in full.
func packX(x []int64) (k, rest key) {
	for l, c := range x[:min(len(x), lanes)] {
		shift := 16 * (lanes - 1 - l)
		k |= key(lane(c)) << shift
		if c < 0 || c > exact {
			return k, 0
		}
	}
	return k, ^key(0) >> (16 * min(len(x), lanes))
}

// packZ interleaves the bits of the first dims lanes, the highest first: the place of a code on a Z-order curve. Neighbours on it are
// neighbours in every dimension, so that the maxima of a block of neighbours say much about each of them. Lengths in bits come first, which
// makes one dimension's bytes and another's handful of GPUs weigh alike.
func packZ(c code, dims int) key {
	dims = min(dims, 2*lanes)
	var k key
	room := 64
	for bit := 14; bit >= 0; bit-- {
		for d := 0; d < dims && room > 0; d++ {
			k = k<<1 | key(c.lane(d)>>bit&1)
			room--
		}
	}
	return k << room
}
