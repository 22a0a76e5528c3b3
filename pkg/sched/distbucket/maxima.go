package distbucket

import "math/bits"

// code is a vector rounded down to 16 bytes: eight lanes of 16 bits, lane d for dimension d. One or two
// word operations compare all lanes at once, and a page can hold the codes of many vectors.
//
// A lane holds v > 0 as a floating-point number, the bit length and the eight bits after the leading
// one; 0 stands for v ≤ 0:
//
//	15 | 14 | 13 … 8         | 7 … 0
//	 0 |  1 | bits.Len64(v)  | bits after the leading one, truncated
//
// Lanes keep the order,
//
//	a ≥ b ⇒ lane(a) ≥ lane(b)
//
// so codes can rule a node out and never rule out one that fits. They are exact up to 511 and within
// 0.4 % above. Bit 15 is the guard bit of comparisons. Dimensions from the ninth on are not in the code.
type code [2]uint64

const (
	lanesPerWord = 4
	guardBits    = 0x8000_8000_8000_8000
	exactLimit   = 511 // up to it, each amount has a lane of its own
)

// encode returns the code of the first eight dimensions of a vector.
func encode(vector Vector) (c code) {
	for d, amount := range vector[:min(len(vector), 2*lanesPerWord)] {
		c[d/lanesPerWord] |= lane(amount) << (d % lanesPerWord * 16)
	}
	return c
}

// lane returns an amount in the format of code.
func lane(v int64) uint64 {
	if v <= 0 {
		return 0
	}
	n := bits.Len64(uint64(v))
	return 1<<14 | uint64(n)<<8 | uint64(v)<<(64-n)<<1>>(64-8)
}

// covers reports whether each lane of c is at least that of want. Subtracting a larger lane borrows the
// guard bit; the comparison is true if all guard bits survive.
func (c *code) covers(want *code) bool {
	return ((c[0]|guardBits)-want[0])&((c[1]|guardBits)-want[1])&guardBits == guardBits
}

// max returns the maximum of each lane.
func (c *code) max(other *code) code { return code{maxLanes(c[0], other[0]), maxLanes(c[1], other[1])} }

// distance returns by how much the maximum of two codes overstates them, for the code that it
// overstates less:
//
//	min(Σ(max − c), Σ(max − other)) over all lanes
//
// Lanes are logarithmic: twice the amount is 256 more. By bit 14, zero is farther from any amount than
// amounts are from each other, so merging keeps apart nodes that have none of a resource.
func (c *code) distance(other *code) uint64 {
	m := c.max(other)
	return min(sumLanes(m[0]-c[0])+sumLanes(m[1]-c[1]), sumLanes(m[0]-other[0])+sumLanes(m[1]-other[1]))
}

// sumLanes returns the sum of the four lanes of a word.
func sumLanes(w uint64) uint64 {
	const even = 0x0000_ffff_0000_ffff
	w = w&even + w>>16&even
	return w&0xffff_ffff + w>>32
}

// maxLanes returns the maximum of each lane of two words.
func maxLanes(a, b uint64) uint64 {
	less := guardBits &^ ((a | guardBits) - b) // guard bits of the lanes where a < b
	mask := less - less>>15                    // the 15 value bits of these lanes
	return a&^mask | b&mask
}

// maxima is an upper bound of a set of codes: each code of the set is covered by one of the three.
// Unused ones are 0.
//
// A single maximum is not enough: if one half of the nodes has no GPUs left and the other half has
// no memory, it says that both are free. While pods with one GPU each filled 5,000 half-full nodes,
// finding four nodes took up to 2,000 visits with one maximum, and 20 to 50 with three. A fourth
// maximum saved a quarter of the visits, but only if six dimensions ran out independently. It made
// updates 50 % more expensive (CPU time, 30,000 nodes).
//
// A third tree, on a Z-order curve, found rare nodes before there were three maxima. It was removed:
// with three, the tree by coordinate needs fewer visits than either tree needed.
type maxima [3]code

// add makes m cover c. O(1).
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

// mergeNearest adds c when all three maxima are used. Of the four codes, it merges the two with the
// smallest distance.
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

// covers reports whether one of the maxima covers want.
func (m *maxima) covers(want *code) bool {
	return m[0].covers(want) || m[1].covers(want) || m[2].covers(want)
}

// exactMax is the exact maximum of each of the first eight dimensions below a page. It is immutable,
// and pages share it.
//
// It decides where codes cannot: if a thousand nodes have exactly the same amount free and a
// request needs one byte more, the codes are equal. exactMax may be too high, because a removal
// does not lower it: that would have to read every entry of the page. It is recomputed when items
// move between pages. Maxima are lowered, so the error stays below the precision of a code.
type exactMax [2 * lanesPerWord]int64

// covers reports whether m is at least request, in the dimensions that m has.
func (m *exactMax) covers(request Vector) bool {
	for d, want := range request[:min(len(request), len(m))] {
		if m[d] < want {
			return false
		}
	}
	return true
}

// raisedTo returns an exactMax that covers m and amounts: m itself if it does. A nil m covers nothing.
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

// raise returns the maximum of m and amounts.
func (m *exactMax) raise(amounts []int64) *exactMax {
	higher := *m
	for d, v := range amounts {
		higher[d] = max(higher[d], v)
	}
	return &higher
}

// recomputeExactMax computes p.exactMax from the items of a leaf page, or the children of an inner one.
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
