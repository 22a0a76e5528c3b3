package distbucket

import "math/bits"

// code is a vector of amounts, rounded down to fit into 16 bytes. It has eight lanes of 16 bits,
// and lane d has the amount of dimension d. Two codes are compared in all lanes with only a few
// operations on 64-bit words. Codes are small, so that a page of the B-tree has room for many of
// them.
//
// A lane has an amount v > 0 in a floating-point format. Bit 14 is set. Bits 13 to 8 have the bit
// length of v, and bits 7 to 0 have the eight bits of v after its leading 1 bit. If v ≤ 0, the
// whole lane is 0:
//
//	15 | 14 | 13 … 8         | 7 … 0
//	 0 |  1 | bits.Len64(v)  | bits after the leading one, truncated
//
// Of two amounts, the larger one never has the smaller lane:
//
//	a ≥ b ⇒ lane(a) ≥ lane(b)
//
// Therefore a comparison of codes never excludes a node that fits. Lanes are exact for amounts up
// to 511. For larger amounts, the error is at most 0.4 %. Bit 15 of a lane is always 0, so that
// comparisons can use it (see the method `covers`). Dimensions from the ninth on are not in the
// code.
type code [2]uint64

const (
	lanesPerWord = 4
	guardBits    = 0x8000_8000_8000_8000
	exactLimit   = 511 // lanes are exact for amounts up to this one: no two of these amounts have equal lanes
)

// encode returns the code of a vector: its amounts, rounded down to fit into 16 bytes. It uses only
// the first eight dimensions.
func encode(vector Vector) (c code) {
	for d, amount := range vector[:min(len(vector), 2*lanesPerWord)] {
		c[d/lanesPerWord] |= lane(amount) << (d % lanesPerWord * 16)
	}
	return c
}

// lane returns an amount in the floating-point format of a lane (see the type `code`).
func lane(v int64) uint64 {
	if v <= 0 {
		return 0
	}
	n := bits.Len64(uint64(v))
	return 1<<14 | uint64(n)<<8 | uint64(v)<<(64-n)<<1>>(64-8)
}

// covers reports whether each 16-bit lane of c is at least as large as the same lane of `want`. Bit
// 15 of each lane is called the guard bit. The method sets the guard bits of c, and then subtracts
// `want`. If a lane of c is smaller than the lane of `want`, the subtraction borrows from the guard
// bit, which is then 0. So all lanes are large enough if all guard bits are still set.
func (c *code) covers(want *code) bool {
	return ((c[0]|guardBits)-want[0])&((c[1]|guardBits)-want[1])&guardBits == guardBits
}

// max returns a code that covers both c and `other`: each of its 16-bit lanes is the larger one of
// the same lanes of c and `other`.
func (c *code) max(other *code) code { return code{maxLanes(c[0], other[0]), maxLanes(c[1], other[1])} }

// distance returns how much precision is lost if the codes c and `other` (see the type `code`) are
// replaced by their maximum. For each of the two codes, it adds the differences between the
// maximum and the code in all lanes. It returns the smaller of the two sums:
//
//	min(Σ(max − c), Σ(max − other)) over all lanes
//
// Lanes are roughly logarithmic: if an amount is doubled, its bit length in bits 8 to 13 grows by
// one, so the lane grows by 256. Bit 14 is set in every lane except that of an amount of 0. So the
// distance between 0 and any other amount is large. Therefore, if a resource is free on one node
// but not on another node, mergeNearest rarely merges the codes of the two nodes.
func (c *code) distance(other *code) uint64 {
	m := c.max(other)
	return min(sumLanes(m[0]-c[0])+sumLanes(m[1]-c[1]), sumLanes(m[0]-other[0])+sumLanes(m[1]-other[1]))
}

// sumLanes returns the sum of the four 16-bit lanes of a word.
func sumLanes(w uint64) uint64 {
	const even = 0x0000_ffff_0000_ffff
	w = w&even + w>>16&even
	return w&0xffff_ffff + w>>32
}

// maxLanes returns a word in which each 16-bit lane is the maximum of the same lanes of a and b.
func maxLanes(a, b uint64) uint64 {
	less := guardBits &^ ((a | guardBits) - b) // guard bits of the lanes where a < b
	mask := less - less>>15                    // bits 0 to 14 of these lanes (in each of them, 0x8000 − 1)
	return a&^mask | b&mask
}

// maxima is an upper bound of a set of codes, such as the codes of all nodes below a page of the
// B-tree: each code of the set is covered by at least one of the three maxima. A search skips a
// page if none of its maxima covers the request. Maxima that are not needed are 0.
//
// A single maximum is not enough. If half of the nodes have no free GPUs and the other half have no
// free memory, a single maximum covers a request for a GPU and memory, although no node fits it.
// The difference was measured while pods with one GPU each filled 5,000 half-full nodes. To find
// four nodes, a search examined up to 2,000 items of pages if each page had one maximum, and 20 to
// 50 items if it had three. A fourth maximum was useful only if six resources ran out
// independently: it then reduced the number of examined items by a quarter. It increased the CPU
// time of updates by 50 % (30,000 nodes).
//
// An alternative was measured and rejected: pages with one maximum, and a third tree of nodes,
// sorted along a Z-order curve, that is searched if few nodes fit. With three maxima, a search of
// the tree by coordinate examines fewer items than a search of this tree with one maximum, or of
// the third tree.
type maxima [3]code

// add changes the maxima so that one of them covers c. It takes O(1) time.
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

// mergeNearest adds c to three maxima that are all in use. Of these four codes, it finds the two
// with the smallest distance from each other, and replaces these two by their maximum.
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

// covers reports whether at least one of the maxima covers the code `want`.
func (m *maxima) covers(want *code) bool {
	return m[0].covers(want) || m[1].covers(want) || m[2].covers(want)
}

// exactMax has, for each of the first eight dimensions, an upper bound of the free amounts of all
// nodes below a page. It is immutable, so several pages may share it.
//
// The values are not rounded, unlike the amounts in the maxima (see the type `code`). So a search
// can skip pages that it could not skip by the maxima alone. For example, if the same amount of
// memory is free on a thousand nodes, and a request needs one byte more, the codes of both amounts
// are equal. Then only exactMax shows that no node fits.
//
// The values in exactMax may be too high, because they are not lowered when an entry is removed or
// replaced. To lower them, every entry of the page would have to be read. They are computed again
// only when items move between pages. Values that are too high do little harm, because the maxima
// of the page, which are codes, are computed again after each change. So the maxima exclude the
// page if, in some dimension, all its amounts are clearly smaller than the requested amount: the
// difference must be larger than the rounding of the codes.
type exactMax [2 * lanesPerWord]int64

// covers reports whether m is at least as large as `request` in each of the dimensions that m has.
func (m *exactMax) covers(request Vector) bool {
	for d, want := range request[:min(len(request), len(m))] {
		if m[d] < want {
			return false
		}
	}
	return true
}

// raisedTo returns an exactMax that covers both m and `amounts`. If m covers `amounts`, it returns
// m itself, without a copy. A nil m covers nothing.
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

// raise returns a new exactMax with the maximum of m and `amounts` in each dimension.
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
