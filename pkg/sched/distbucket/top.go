package distbucket

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
