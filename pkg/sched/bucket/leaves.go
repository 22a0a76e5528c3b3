package bucket

import "slices"

// Iterator yields the leaves that fit a query one by one: depth first from the root, into children that fit only.
//
// It defines the visiting order, for people and for tests. Pick comes to the same nodes without visiting leaf after leaf.
type Iterator struct {
	ask   asking
	stack []level
	met   []Bucket // what is left for the policies that go by nodes and not by amounts
	trace func(Bucket)
}

// level is a bucket that was opened, and the ranks of what was not visited yet.
type level struct {
	Bucket
	lo, hi int
}

// Leaves returns the walk over the leaves that hold a node whose coordinate fits, the best by policy first. The policies that do not go by
// amounts come to a leaf with the first of its nodes.
func (v View) Leaves(q Query) *Iterator {
	return v.leaves(q, nil)
}

func (v View) leaves(q Query, trace func(Bucket)) *Iterator {
	it := &Iterator{ask: v.ask(q), trace: trace}
	if q.Policy == LeastFit || q.Policy == BestFit {
		it.open(v.Root())
	} else {
		it.met = it.ask.leavesByNode()
	}
	return it
}

// Next returns the next leaf, or nil at the end.
func (it *Iterator) Next() *Bucket {
	for len(it.stack) > 0 {
		child, ok := it.child()
		switch {
		case !ok:
			it.stack = it.stack[:len(it.stack)-1]
		case !it.ask.fits(child):
		case child.Leaf():
			return &child
		default:
			it.open(child)
		}
	}
	if len(it.met) == 0 {
		return nil
	}
	leaf := it.met[0]
	it.met = it.met[1:]
	return &leaf
}

func (it *Iterator) open(b Bucket) {
	it.stack = append(it.stack, level{Bucket: b, lo: b.lo, hi: b.hi})
	if it.trace != nil {
		it.trace(b)
	}
}

// child takes the next child of the bucket opened last, by policy.
func (it *Iterator) child() (Bucket, bool) {
	top := &it.stack[len(it.stack)-1]
	if top.lo == top.hi {
		return Bucket{}, false
	}
	if it.ask.Policy == LeastFit {
		child := top.Bucket.child(top.hi - 1)
		top.hi = child.lo
		return child, true
	}
	child := top.Bucket.child(top.lo)
	top.lo = child.hi
	return child, true
}

// leavesByNode returns the leaves in the order in which the policy comes to their nodes.
func (a *asking) leavesByNode() []Bucket {
	var leaves []Bucket
	for _, e := range a.inTurn() {
		have := slices.ContainsFunc(leaves, func(b Bucket) bool { return slices.Equal(b.X, e.x) })
		if !have && meets(e.x, a.x) {
			leaves = append(leaves, a.view.bucket(e.x))
		}
	}
	return leaves
}

// Take returns the node of a leaf that a task takes, or nil if none really fits: the smallest name, or with Random a random one.
func (it *Iterator) Take(leaf *Bucket) *Node {
	var fitting []*Node
	for e := range leaf.entries() {
		if it.ask.named(e) && it.ask.takes(e) {
			fitting = append(fitting, &e.Node)
		}
	}
	switch {
	case len(fitting) == 0:
		return nil
	case it.ask.Policy == Random:
		return fitting[it.ask.Rand.IntN(len(fitting))]
	}
	return fitting[0]
}
