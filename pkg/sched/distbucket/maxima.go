package distbucket

import (
	"math/bits"
)

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

// peaks say what several codes are at most: each of them is covered by one of the peaks. What is left over is 0.
//
// One peak would be the lane by lane maximum, which hides what matters most: where half of the nodes have no GPU left and the others no memory,
// it has both. While pods with a card each fill 5,000 half full nodes, four nodes for the next one take up to 2,000 looks with maxima alone, and 20
// to 50 with three peaks. A fourth saves a quarter of the looks where six dimensions run out independently of each other, and nothing here,
// and made changes half as expensive again (processor time, 30,000 nodes, busy machine).
type peaks [3]code

// add makes a code covered. If there are more peaks than places, the two that are nearest to each other become their maximum.
func (p *peaks) add(c code) {
	at := -1
	for i := range p {
		switch {
		case p[i].covers(&c):
			return
		case c.covers(&p[i]):
			p[i], at = code{}, i
		}
	}
	if at >= 0 {
		p[at] = c
		return
	}
	p.merge(c)
}

// merge makes one of two, and room for c.
func (p *peaks) merge(c code) {
	to, from, least := 0, len(p), p[0].far(&c)
	for i := range p {
		for j := i + 1; j < len(p); j++ {
			if d := p[i].far(&p[j]); d < least {
				to, from, least = i, j, d
			}
		}
		if d := p[i].far(&c); d < least {
			to, from, least = i, len(p), d
		}
	}
	if from == len(p) {
		p[to] = p[to].most(&c)
	} else {
		p[to], p[from] = p[to].most(&p[from]), c
	}
}

// covers says whether one of the peaks covers a code.
func (p *peaks) covers(want *code) bool {
	return p[0].covers(want) || p[1].covers(want) || p[2].covers(want)
}

// top holds exact maxima of the first dimensions; it never changes. Where a thousand nodes have the same free, to the last byte, and a request
// asks for a byte more, codes cannot tell.
//
// A top may be too high: a removal does not lower it, which would take a look at every entry of a block, and it is made anew only when items
// move between blocks. Peaks are lowered, so that it is too high by less than codes can tell.
type top [2 * lanes]int64

// covers says whether t has at least what request asks for, in the dimensions that it knows.
func (t *top) covers(request Vector) bool {
	for d, want := range request[:min(len(request), len(t))] {
		if t[d] < want {
			return false
		}
	}
	return true
}

// raised returns a top that amounts do not exceed: t itself if it is one. A nil top is exceeded by everything.
func (t *top) raised(amounts []int64) *top {
	amounts = amounts[:min(len(amounts), len(top{}))]
	if t == nil {
		t = new(top)
		copy(t[:], amounts)
		return t
	}
	for d, v := range amounts {
		if v > t[d] {
			return t.max(amounts)
		}
	}
	return t
}

func (t *top) max(amounts []int64) *top {
	most := *t
	for d, v := range amounts {
		most[d] = max(most[d], v)
	}
	return &most
}

// settle makes the top of b anew.
func (b *block) settle() {
	b.top = nil
	for i := range b.n {
		if b.kids == nil {
			b.top = b.top.raised(b.items[i].Free)
		} else {
			b.top = b.top.raised(b.kids.at[i].top[:])
		}
	}
}
