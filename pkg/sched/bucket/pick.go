package bucket

// Pick returns up to n nodes that really fit, the best by policy first; none at all if none fits.
//
// For LeastFit and BestFit these are the nodes that one gets by taking, leaf after leaf as Leaves yields them, the nodes that fit in order of
// their names.
func (v View) Pick(q Query, n int) []*Node { return v.AppendPick(nil, q, n) }

// AppendPick is Pick into a slice that the caller owns.
func (v View) AppendPick(dst []*Node, q Query, n int) []*Node {
	a := v.ask(q)
	out := picked{nodes: dst, want: n}
	switch {
	case q.Candidates != nil:
		a.chosen(&out)
	case q.Policy == LeastFit:
		a.leastFit(&out)
	case q.Policy == BestFit:
		a.bestFit(&out)
	case q.Policy == FirstFit:
		a.byName(&out, 0, v.Len())
	case q.Policy == NextFit:
		start := v.byName.rank(func(e *entry) bool { return e.Name <= q.After })
		a.byName(&out, start, v.Len())
		a.byName(&out, 0, start)
	case q.Policy == Random:
		start := q.Rand.IntN(max(1, v.Len()))
		a.byName(&out, start, v.Len())
		a.byName(&out, 0, start)
	}
	return out.nodes
}

// picked are the nodes taken so far, and how many are still wanted.
type picked struct {
	nodes []*Node
	want  int
}

func (p *picked) add(e *entry) {
	p.nodes = append(p.nodes, &e.Node)
	p.want--
}

func (p *picked) full() bool { return p.want <= 0 }

// chosen takes from the candidates.
func (a *asking) chosen(out *picked) {
	for _, e := range a.inTurn() {
		if !out.full() && a.takes(e) {
			out.add(e)
		}
	}
}

// leastFit goes down through the coordinates, and up through the names within a leaf.
func (a *asking) leastFit(out *picked) {
	t := &a.view.byX
	for end := t.size(); !out.full(); {
		e, last := t.down(end, a.Request)
		if e == nil {
			return
		}
		first := t.rank(func(f *entry) bool { return compareX(f.x, e.x) < 0 })
		a.upTo(out, t, first, last+1)
		end = first
	}
}

// bestFit goes up through the coordinates, and through the names within each.
func (a *asking) bestFit(out *picked) { a.upTo(out, &a.view.byX, 0, a.view.byX.size()) }

func (a *asking) byName(out *picked, lo, hi int) { a.upTo(out, &a.view.byName, lo, hi) }

// upTo takes what fits among the ranks from lo to hi of a tree.
func (a *asking) upTo(out *picked, t *tree, lo, hi int) {
	for lo < hi && !out.full() {
		e, r := t.up(lo, a.Request)
		if e == nil || r >= hi {
			return
		}
		if a.takes(e) {
			out.add(e)
		}
		lo = r + 1
	}
}
