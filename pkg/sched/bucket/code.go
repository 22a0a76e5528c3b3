package bucket

import "math/bits"

// code is a vector in 16 bytes: eight lanes of 16 bits, lane d for dimension d, so that a block of maxima is small to copy and quick to search.
//
// A lane holds an amount v > 0 as a floating point number, its length in bits and the nine bits behind the highest one:
//
//	15 | 14 … 9         | 8 … 0
//	 0 | bits.Len64(v)  | v's bits behind the first, cut off
//
// and 0 for none. That keeps order, a ≥ b ⇒ lane(a) ≥ lane(b), is exact up to 1023 and within 0.2 % above. So codes can rule out that a node
// covers a request, and the exact amounts of the nodes that are left decide. Dimensions from the ninth on are not ruled out by codes.
type code [2]uint64

const (
	lanes = 4 // of a word
	guard = 0x8000_8000_8000_8000
	exact = 1023 // up to here every amount has a lane of its own
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
	return uint64(n)<<9 | uint64(v)<<(64-n)<<1>>(64-9)
}

func (c *code) lane(d int) uint64 { return c[d/lanes] >> (d % lanes * 16) & 0x7fff }

// far returns how often, over all lanes, an amount has to be doubled or halved to come from c to other.
func (c *code) far(other *code) int {
	far := 0
	for d := range 2 * lanes {
		a, b := c.lane(d), other.lane(d)
		far += int(max(a, b)-min(a, b)) >> 9
	}
	return far
}

// covers says whether no lane of c is less than that of want. The subtraction of a lane borrows its guard bit exactly if it is less.
func (c *code) covers(want *code) bool {
	return ((c[0]|guard)-want[0])&((c[1]|guard)-want[1])&guard == guard
}

// box holds the least and the most of several codes, lane by lane.
type box struct{ low, high code }

// extend makes b hold what other holds.
func (b *box) extend(other *box) {
	for w := range b.low {
		b.high[w] = most(b.high[w], other.high[w])
		b.low[w] ^= other.low[w] ^ most(b.low[w], other.low[w])
	}
}

// most returns the lane by lane maximum of two words; with a ^ b ^ most(a, b) the minimum is what is left.
func most(a, b uint64) uint64 {
	less := guard &^ ((a | guard) - b) // the guard bits of the lanes where a is less
	mask := less - less>>15            // their 15 value bits
	return a&^mask | b&mask
}
