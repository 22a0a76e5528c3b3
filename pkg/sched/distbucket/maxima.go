package distbucket

import "math/bits"

// code is a vector of amounts that is rounded down to fit into 16 bytes. It has eight lanes of 16
// bits, and lane d has the amount of dimension d. A comparison of all lanes takes only a few
// operations on 64-bit words, and a page has room for the codes of many vectors.
//
// A lane has an amount v > 0 in a floating-point format: the bit length of v, and the eight bits
// after the leading 1 bit. A lane of 0 means v ≤ 0:
//
//	15 | 14 | 13 … 8         | 7 … 0
//	 0 |  1 | bits.Len64(v)  | bits after the leading one, truncated
//
// Lanes have the order of the amounts,
//
//	a ≥ b ⇒ lane(a) ≥ lane(b)
//
// so a comparison of codes may exclude a node, but never excludes a node that fits. Lanes are exact
// for amounts up to 511. Above, the error is at most 0.4 %. Bit 15 is free for comparisons (see
// covers). Dimensions from the ninth on are not in the code.
type code [2]uint64

const (
	lanesPerWord = 4
	guardBits    = 0x8000_8000_8000_8000
	exactLimit   = 511 // each amount up to this one has a different lane
)

// encode returns the code of the first eight dimensions of a vector.
func encode(vector Vector) (c code) {
	for d, amount := range vector[:min(len(vector), 2*lanesPerWord)] {
		c[d/lanesPerWord] |= lane(amount) << (d % lanesPerWord * 16)
	}
	return c
}

// lane returns an amount in the format of a lane of code.
func lane(v int64) uint64 {
	if v <= 0 {
		return 0
	}
	n := bits.Len64(uint64(v))
	return 1<<14 | uint64(n)<<8 | uint64(v)<<(64-n)<<1>>(64-8)
}

// covers reports whether each lane of c is at least the same lane of want. It sets bit 15 of each
// lane of c, the guard bit, and subtracts want. A lane that is too small borrows from its guard bit,
// so covers is true if all guard bits are still set.
func (c *code) covers(want *code) bool {
	return ((c[0]|guardBits)-want[0])&((c[1]|guardBits)-want[1])&guardBits == guardBits
}

// max returns the code that has in each lane the maximum of both codes.
func (c *code) max(other *code) code { return code{maxLanes(c[0], other[0]), maxLanes(c[1], other[1])} }

// distance returns how much larger than the two codes their maximum is. For each code, it adds the
// differences of all lanes, and it returns the smaller of the two sums:
//
//	min(Σ(max − c), Σ(max − other)) over all lanes
//
// Lanes are roughly logarithmic: twice the amount makes a lane larger by 256. Bit 14 is set in every
// lane but that of an amount of 0. So 0 is farther from every other amount than other amounts are
// from each other. Therefore mergeNearest rarely merges codes of nodes that have none of a resource
// with codes of nodes that have some.
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

// maxima is an upper bound of a set of codes: each code of the set is covered by at least one of the
// three maxima. Maxima that are not needed are 0.
//
// A single maximum is not enough. If half of the nodes have no free GPUs and the other half have no
// free memory, a single maximum says that nodes have both. This was measured while pods with one GPU
// each filled 5,000 half-full nodes. To find four nodes, a search examined up to 2,000 items of
// pages with one maximum, and 20 to 50 with three. A fourth maximum saved a quarter of these visits,
// but only if six resources ran out independently. It increased the CPU time of updates by 50 %
// (30,000 nodes).
//
// Before there were three maxima, a third tree, in which nodes were sorted along a Z-order curve,
// found nodes if few of them fitted. It was removed, because with three maxima a search of the tree
// by coordinate examines fewer items than a search of either tree did before.
type maxima [3]code

// add makes m cover c. It takes O(1) time.
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

// mergeNearest adds c when all three maxima are in use. It merges the two of these four codes that
// have the smallest distance.
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

// exactMax has, for each of the first eight dimensions, the exact maximum of the free amounts of all
// nodes below a page. It is immutable, so several pages may share it.
//
// It excludes pages that codes cannot exclude: if on a thousand nodes the same amount of memory is
// free, and a request needs one byte more, the codes of both amounts are equal. exactMax may be too
// high, because it is not lowered when an entry is removed. To lower it, every entry of the page
// would have to be read. It is computed again when items move between pages. The maxima of a page
// are lowered when an entry is removed, so a value of exactMax that is too high makes a difference
// only within the precision of a code.
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

// raisedTo returns an exactMax that covers m and amounts. It returns m itself if m covers amounts. A
// nil m covers nothing.
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

// recomputeExactMax computes p.exactMax from the items of a leaf page, or from the children of an
// inner page.
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
