package distbucket

import "math/bits"

// code is a vector in 16 bytes: eight lanes of 16 bits, lane d for dimension d, so that a block of maxima is small to copy and quick to search.
//
// A lane holds an amount v > 0 as a floating point number, its length in bits and the eight bits behind the highest one:
//
//	15 | 14 | 13 … 8         | 7 … 0
//	 0 |  1 | bits.Len64(v)  | v's bits behind the first, cut off
//
// and 0 for none. That keeps order, a ≥ b ⇒ lane(a) ≥ lane(b), is exact up to 511 and within 0.4 % above. So codes can rule out that a node
// covers a request, and the exact amounts of the nodes that are left decide. Dimensions from the ninth on are not ruled out by codes.
type code [2]uint64

const (
	lanes = 4 // of a word
	guard = 0x8000_8000_8000_8000
	exact = 511 // up to here every amount has a lane of its own
)

func encode(v Vector) (c code) {
	for d, amount := range v[:min(len(v), 2*lanes)] {
		c[d/lanes] |= lane(amount) << (d % lanes * 16)
	}
	return c
}

func lane(v int64) uint64 {
	if v <= 0 {
		return 0
	}
	n := bits.Len64(uint64(v))
	return 1<<14 | uint64(n)<<8 | uint64(v)<<(64-n)<<1>>(64-8)
}

// covers says whether no lane of c is less than that of want. The subtraction of a lane borrows its guard bit exactly if it is less.
func (c *code) covers(want *code) bool {
	return ((c[0]|guard)-want[0])&((c[1]|guard)-want[1])&guard == guard
}

// most returns the lane by lane maximum.
func (c *code) most(other *code) code { return code{most(c[0], other[0]), most(c[1], other[1])} }

// far says how much the maximum of two codes exceeds the one that it exceeds less: the sum of its lanes' excess, 256 for an amount twice as
// large. Something is farther from nothing than from any other amount, by the bit 14.
func (c *code) far(other *code) uint64 {
	m := c.most(other)
	return min(total(m[0]-c[0])+total(m[1]-c[1]), total(m[0]-other[0])+total(m[1]-other[1]))
}

// total adds the lanes of a word up.
func total(w uint64) uint64 {
	const even = 0x0000_ffff_0000_ffff
	w = w&even + w>>16&even
	return w&0xffff_ffff + w>>32
}

// most returns the lane by lane maximum of two words.
func most(a, b uint64) uint64 {
	less := guard &^ ((a | guard) - b) // the guard bits of the lanes where a is less
	mask := less - less>>15            // their 15 value bits
	return a&^mask | b&mask
}
