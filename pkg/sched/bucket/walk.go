package bucket

// walk looks for entries that cover want and are not stale, and counts what it looks at in vain.
type walk struct {
	want   Vector
	code   code // of want
	recent recent
	left   int // items that it may still look at; what is below nought was too many
}

// up returns the first entry in a range that covers what is wanted, and its rank, or nil. It looks into no block whose maxima do not cover
// it.
func (w *walk) up(t *tree, in span) (*entry, int) {
	if t.root == nil {
		return nil, 0
	}
	return w.upBelow(t.root, in)
}

func (w *walk) upBelow(b *block, in span) (*entry, int) {
	at := 0
	for i := 0; i < b.n && at < in.hi; i++ {
		next := at + b.weight(i)
		if next > in.lo && w.sees(b, i) {
			if b.kids == nil {
				return b.items[i], at
			}
			if e, r := w.upBelow(b.kids.at[i], in.minus(at)); e != nil {
				return e, at + r
			}
		}
		at = next
	}
	return nil, 0
}

// down returns the last entry in a range that covers what is wanted, or nil, likewise.
func (w *walk) down(t *tree, in span) *entry {
	if t.root == nil {
		return nil
	}
	return w.downBelow(t.root, t.root.size(), in)
}

func (w *walk) downBelow(b *block, size int, in span) *entry {
	at := size
	for i := b.n - 1; i >= 0 && at > in.lo; i-- {
		at -= b.weight(i)
		if at >= in.hi || !w.sees(b, i) {
			continue
		}
		if b.kids == nil {
			return b.items[i]
		}
		if e := w.downBelow(b.kids.at[i], b.weight(i), in.minus(at)); e != nil {
			return e
		}
	}
	return nil
}

// sees says whether there may be an entry that covers what is wanted at or below item i; at the lowest level it is sure.
func (w *walk) sees(b *block, i int) bool {
	w.left--
	switch {
	case w.left < 0 || !b.boxes[i].high.covers(&w.code):
		return false
	case b.kids == nil:
		return b.items[i].Free.Covers(w.want) && !w.recent.stale(b.items[i])
	}
	return b.kids.at[i].top.covers(w.want)
}
