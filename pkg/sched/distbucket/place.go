package distbucket

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
func (p *place) begin(t *tree) cursor { return t.seek(p.first, p.reached) }

// end returns the place behind all of them.
func (p *place) end(t *tree) cursor { return t.seek(p.last, p.passed) }

// behind returns the place behind a label in a leaf.
func (p *place) behind(t *tree, label key) cursor {
	return t.seek(p.first, func(b *block, i int) bool {
		if !p.whole {
			if c := compareX(b.items[i].x, p.x); c != 0 {
				return c > 0
			}
		}
		return b.briefs[i].label > label
	})
}

// reached says whether item i of a block, which has the first key, is not before x.
func (p *place) reached(b *block, i int) bool { return p.whole || compareX(b.items[i].x, p.x) >= 0 }

// passed says whether item i of a block, which has the last key, is behind x.
func (p *place) passed(b *block, i int) bool { return !p.whole && compareX(b.items[i].x, p.x) > 0 }

// has says whether an entry whose key is between first and last is one of them.
func (p *place) has(e *entry) bool { return p.whole || compareX(e.x, p.x) == 0 }
