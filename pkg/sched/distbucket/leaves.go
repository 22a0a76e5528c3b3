package distbucket

import "slices"

// Iterator yields the leaves that fit a query one by one: depth first from the root, into children that fit only.
//
// It defines the visiting order, for people and for tests. Pick comes to the same nodes without visiting leaf after leaf.
type Iterator struct {
	ask   asking
	x     []int64 // coordinate of the request
	stack []level
	met   []Bucket // what is left for the policies that go by nodes and not by amounts
	trace func(Bucket)
}

// level is a bucket that was opened, and the ranks of what was not visited yet.
type level struct {
	Bucket
	left span
}

// Leaves returns the walk over the leaves that hold a node whose coordinate fits, the best by policy first. The policies that do not go by
// amounts come to a leaf with the first of its nodes.
func (v View) Leaves(q Query) *Iterator {
	return v.leaves(q, nil)
}

func (v View) leaves(q Query, trace func(Bucket)) *Iterator {
	v = v.settled()
	it := &Iterator{ask: v.ask(q), x: v.space.coordinate(q.Request), trace: trace}
	if q.Policy == LeastFit || q.Policy == BestFit {
		it.open(v.Root())
	} else {
		it.met = it.leavesByNode()
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
		case !it.fits(child):
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
	it.stack = append(it.stack, level{Bucket: b, left: b.span})
	if it.trace != nil {
		it.trace(b)
	}
}

// child takes the next child of the bucket opened last, by policy.
func (it *Iterator) child() (Bucket, bool) {
	top := &it.stack[len(it.stack)-1]
	if top.left.lo == top.left.hi {
		return Bucket{}, false
	}
	if it.ask.Policy == LeastFit {
		child := top.Bucket.child(top.left.hi - 1)
		top.left.hi = child.lo
		return child, true
	}
	child := top.Bucket.child(top.left.lo)
	top.left.lo = child.hi
	return child, true
}

// fits says whether the bucket's space meets the region {c : c ≥ x(t)} and whether the bucket holds a candidate. O(|candidates|).
func (it *Iterator) fits(b Bucket) bool {
	if !meets(b.X, it.x) {
		return false
	}
	if it.ask.Candidates == nil {
		return b.Len() > 0
	}
	return slices.ContainsFunc(it.ask.among, func(e *entry) bool { return compareX(e.x, b.X) == 0 })
}

// meets says whether some coordinate that begins with x is nowhere less than least.
func meets(x, least []int64) bool {
	for l, c := range x {
		if c < least[l] {
			return false
		}
	}
	return true
}

// Take returns the node of a leaf that a task takes, or nil if none really fits: the smallest name, counted from Query.After, or with Random a
// random one.
func (it *Iterator) Take(leaf *Bucket) *Node {
	var fitting []*entry
	for e := range leaf.entries() {
		if it.ask.named(e) && it.ask.takes(e) {
			fitting = append(fitting, e)
		}
	}
	switch {
	case len(fitting) == 0:
		return nil
	case it.ask.Policy == Random:
		return &fitting[it.ask.Rand.IntN(len(fitting))].Node
	}
	return &slices.MinFunc(fitting, it.ask.compare).Node
}
