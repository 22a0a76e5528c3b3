package distbucket

// walk looks for entries that cover want and are not stale.
type walk struct {
	want   Vector
	code   code // of want
	recent recent
	looks  int // there were, at items: what a search costs, on any machine
	limit  int // of looks; 0 is none
}

// sees says whether there may be an entry that covers what is wanted at or below item i; at the lowest level it is sure.
func (w *walk) sees(b *block, i int) bool {
	w.looks++
	if b.kids != nil {
		return b.kids.peaks == nil || b.kids.peaks[i].covers(&w.code) && b.kids.at[i].top.covers(w.want)
	}
	e := b.items[i]
	return b.codes[i].covers(&w.code) && e.Free.Covers(w.want) && !w.recent.stale(e)
}

// hopes says whether there may be such an entry in a tree, by a look at its root.
func (w *walk) hopes(t *tree) bool {
	for i := 0; t.root != nil && i < t.root.n; i++ {
		if w.sees(t.root, i) {
			return true
		}
	}
	return false
}

// tired says whether the limit is reached.
func (w *walk) tired() bool { return w.looks == w.limit && w.limit > 0 }
