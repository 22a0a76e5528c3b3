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
	lanesPerWord = 4 // of a word
	guardBits    = 0x8000_8000_8000_8000
	exactLimit   = 511 // up to here every amount has a lane of its own
)

func encode(v Vector) (c code) {
	for d, amount := range v[:min(len(v), 2*lanesPerWord)] {
		c[d/lanesPerWord] |= lane(amount) << (d % lanesPerWord * 16)
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
	return ((c[0]|guardBits)-want[0])&((c[1]|guardBits)-want[1])&guardBits == guardBits
}

// most returns the lane by lane maximum.
func (c *code) max(other *code) code { return code{maxLanes(c[0], other[0]), maxLanes(c[1], other[1])} }

// far says how much the maximum of two codes exceeds the one that it exceeds less: the sum of its lanes' excess, 256 for an amount twice as
// large. Something is farther from nothing than from any other amount, by the bit 14.
func (c *code) distance(other *code) uint64 {
	m := c.max(other)
	return min(sumLanes(m[0]-c[0])+sumLanes(m[1]-c[1]), sumLanes(m[0]-other[0])+sumLanes(m[1]-other[1]))
}

// total adds the lanes of a word up.
func sumLanes(w uint64) uint64 {
	const even = 0x0000_ffff_0000_ffff
	w = w&even + w>>16&even
	return w&0xffff_ffff + w>>32
}

// most returns the lane by lane maximum of two words.
func maxLanes(a, b uint64) uint64 {
	less := guardBits &^ ((a | guardBits) - b) // the guard bits of the lanes where a is less
	mask := less - less>>15                    // their 15 value bits
	return a&^mask | b&mask
}

// peaks say what several codes are at most: each of them is covered by one of the peaks. What is left over is 0.
//
// One peak would be the lane by lane maximum, which hides what matters most: where half of the nodes have no GPU left and the others no memory,
// it has both. While pods with a card each fill 5,000 half full nodes, four nodes for the next one take up to 2,000 looks with maxima alone, and 20
// to 50 with three peaks. A fourth saves a quarter of the looks where six dimensions run out independently of each other, and nothing here,
// and made changes half as expensive again (processor time, 30,000 nodes, busy machine).
type maxima [3]code

// add makes a code covered. If there are more peaks than places, the two that are nearest to each other become their maximum.
func (m *maxima) add(c code) {
	at := -1
	for i := range m {
		switch {
		case m[i].covers(&c):
			return
		case c.covers(&m[i]):
			m[i], at = code{}, i
		}
	}
	if at >= 0 {
		m[at] = c
		return
	}
	m.mergeNearest(c)
}

// merge makes one of two, and room for c.
func (m *maxima) mergeNearest(c code) {
	to, from, least := 0, len(m), m[0].distance(&c)
	for i := range m {
		for j := i + 1; j < len(m); j++ {
			if d := m[i].distance(&m[j]); d < least {
				to, from, least = i, j, d
			}
		}
		if d := m[i].distance(&c); d < least {
			to, from, least = i, len(m), d
		}
	}
	if from == len(m) {
		m[to] = m[to].max(&c)
	} else {
		m[to], m[from] = m[to].max(&m[from]), c
	}
}

// covers says whether one of the peaks covers a code.
func (m *maxima) covers(want *code) bool {
	return m[0].covers(want) || m[1].covers(want) || m[2].covers(want)
}

// top holds exact maxima of the first dimensions; it never changes. Where a thousand nodes have the same free, to the last byte, and a request
// asks for a byte more, codes cannot tell.
//
// A top may be too high: a removal does not lower it, which would take a look at every entry of a block, and it is made anew only when items
// move between blocks. Peaks are lowered, so that it is too high by less than codes can tell.
type exactMax [2 * lanesPerWord]int64

// covers says whether t has at least what request asks for, in the dimensions that it knows.
func (m *exactMax) covers(request Vector) bool {
	for d, want := range request[:min(len(request), len(m))] {
		if m[d] < want {
			return false
		}
	}
	return true
}

// raised returns a top that amounts do not exceed: t itself if it is one. A nil top is exceeded by everything.
func (m *exactMax) raisedTo(amounts []int64) *exactMax {
	amounts = amounts[:min(len(amounts), len(exactMax{}))]
	if m == nil {
		m = new(exactMax)
		copy(m[:], amounts)
		return m
	}
	for d, v := range amounts {
		if v > m[d] {
			return m.raise(amounts)
		}
	}
	return m
}

func (m *exactMax) raise(amounts []int64) *exactMax {
	higher := *m
	for d, v := range amounts {
		higher[d] = max(higher[d], v)
	}
	return &higher
}

// settle makes the top of b anew.
func (p *page) recomputeExactMax() {
	p.exactMax = nil
	for i := range p.n {
		if p.children == nil {
			p.exactMax = p.exactMax.raisedTo(p.items[i].Free)
		} else {
			p.exactMax = p.exactMax.raisedTo(p.children.pages[i].exactMax[:])
		}
	}
}
