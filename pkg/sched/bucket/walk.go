package bucket

// walk looks for entries that cover want and are not stale, and counts what it looks at in vain.
type walk struct {
	want   Vector
	code   code // of want
	recent recent
	left   int // items that it may still look at; what is below nought was too many
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
