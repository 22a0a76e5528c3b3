package distbucket

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Bucket is a bucket of the original DistBuckets: the nodes whose coordinates begin with the numbers
// in the field X. Its notation has a wildcard for each dimension for which X has no number, such as
// (5,*). The bucket with an empty X is the root. A bucket whose X has a number for each dimension
// is a leaf.
type Bucket struct {
	X    []int64 // the first numbers of the coordinates; Config.Order has the order of the dimensions
	view *View
	span // the ranks of the bucket's nodes in the tree by coordinate
}

// Root returns the bucket (*,…,*), which has every node.
func (v View) Root() Bucket {
	v = v.flushed()
	return Bucket{view: &v, span: span{0, v.Len()}}
}

// Len returns the number of nodes in the bucket.
func (b Bucket) Len() int { return b.hi - b.lo }

// Leaf reports whether the bucket is a leaf bucket, which has no wildcard.
func (b Bucket) Leaf() bool { return len(b.X) == b.view.space.dims() }

// String returns the bucket's coordinate in the notation of the original DistBuckets, such as
// "(5,*)".
func (b Bucket) String() string {
	parts := make([]string, b.view.space.dims())
	for l := range parts {
		parts[l] = "*"
		if l < len(b.X) {
			parts[l] = strconv.FormatInt(b.X[l], 10)
		}
	}
	return "(" + strings.Join(parts, ",") + ")"
}

// Nodes yields the nodes of the bucket, by coordinate and then by name.
func (b Bucket) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for e := range b.entries() {
			if !yield(&e.Node) {
				return
			}
		}
	}
}

func (b Bucket) entries() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for r := b.lo; r < b.hi; r++ {
			if !yield(b.view.byCoord.atRank(r)) {
				return
			}
		}
	}
}

// Children yields the buckets directly inside b. The X of such a bucket has the numbers of b.X and
// one more. The bucket with the smallest last number comes first. Empty buckets are left out.
func (b Bucket) Children() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		for at := b.lo; at < b.hi && !b.Leaf(); {
			child := b.child(at)
			if !yield(child) {
				return
			}
			at = child.hi
		}
	}
}

// child returns the bucket directly inside b that has the node of rank r in the tree by coordinate.
func (b Bucket) child(r int) Bucket {
	return b.view.bucket(b.view.byCoord.atRank(r).coord[:len(b.X)+1])
}

// bucket returns the bucket of the nodes whose coordinate begins with x.
func (v *View) bucket(x []int64) Bucket {
	return Bucket{X: x, view: v, span: v.byCoord.under(x)}
}

// The method `under` returns the range of the ranks of those entries whose coordinate begins with
// x.
func (t *tree) under(x []int64) span {
	r := prefixRange(x)
	return span{lo: t.rank(r.first, r.notBefore), hi: t.rank(r.last, r.after)}
}

// flushed returns a copy of the view with an empty delta. The delta has the newest updates, which
// are not yet in the tree by coordinate. In the copy, they are in this tree. So the tree has all
// nodes, and each bucket is a range of it.
func (v View) flushed() View {
	v.byCoord.apply(v.delta)
	v.freeze()
	v.delta = nil
	return v
}

// Coordinate returns ⌈amount/θ⌉ for each dimension, in the order of Config.Order.
func (v View) Coordinate(amounts Vector) []int64 { return v.space.coordinate(amounts) }

// coordinate returns ⌈amount/θ⌉ for each dimension, in the order of Config.Order. Rounding up never
// reverses the order of two amounts. So if a node has at least the requested amounts, the node's
// coordinate is at least as large as the request's coordinate in every dimension.
func (s space) coordinate(vector Vector) []int64 {
	x := make([]int64, len(vector))
	s.coordinateInto(x, vector)
	return x
}

// Iterator yields the leaf buckets that fit a query. Like the iterator in the original DistBuckets,
// it searches depth first from the root bucket, and opens only buckets that fit. The tests compare
// AppendPick with this iterator.
type Iterator struct {
	search search
	x      []int64 // coordinate of the request
	stack  []level
	leaves []Bucket // remaining leaf buckets, used for policies that do not order nodes by amounts
	trace  func(Bucket)
}

// level is a bucket that the iterator has opened. Its child buckets are visited one after another.
// The field `left` has the ranks of the nodes in those child buckets that have not been visited yet.
type level struct {
	Bucket
	left span
}

// Leaves returns an iterator over the leaf buckets whose coordinates fit the query, best first by
// the query's policy. For policies that ignore amounts, leaf buckets are in the order of their
// first nodes.
func (v View) Leaves(query Query) *Iterator {
	return v.leaves(query, nil)
}

func (v View) leaves(query Query, trace func(Bucket)) *Iterator {
	v = v.flushed()
	it := &Iterator{search: v.search(query), x: v.space.coordinate(query.Request), trace: trace}
	if query.Policy == LeastFit || query.Policy == BestFit {
		it.open(v.Root())
	} else {
		it.leaves = it.leavesByNode()
	}
	return it
}

// Next returns the next leaf bucket, or nil at the end.
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
	if len(it.leaves) == 0 {
		return nil
	}
	leaf := it.leaves[0]
	it.leaves = it.leaves[1:]
	return &leaf
}

func (it *Iterator) open(b Bucket) {
	it.stack = append(it.stack, level{Bucket: b, left: b.span})
	if it.trace != nil {
		it.trace(b)
	}
}

// child returns the next child bucket of the bucket that was opened last, in the order of the
// policy. It returns false if there is none.
func (it *Iterator) child() (Bucket, bool) {
	open := &it.stack[len(it.stack)-1]
	if open.left.lo == open.left.hi {
		return Bucket{}, false
	}
	if it.search.Policy == LeastFit {
		child := open.Bucket.child(open.left.hi - 1)
		open.left.hi = child.lo
		return child, true
	}
	child := open.Bucket.child(open.left.lo)
	open.left.lo = child.hi
	return child, true
}

// fits reports whether the bucket b has to be opened. There are two conditions. First, none of the
// numbers in b.X, with which all coordinates of the bucket begin, is smaller than the number in the
// same place of the request's coordinate. Second, b has a node that the query allows. If the query
// names candidates, the method visits them to find one in b.
func (it *Iterator) fits(b Bucket) bool {
	if !meets(b.X, it.x) {
		return false
	}
	if it.search.Candidates == nil {
		return b.Len() > 0
	}
	return slices.ContainsFunc(it.search.candidates, func(e *entry) bool { return comparePrefix(e.coord, b.X) == 0 })
}

// meets reports whether a coordinate whose first numbers are x can be at least as large as the
// coordinate of a request, `least`, in every dimension.
func meets(x, least []int64) bool {
	for l, c := range x {
		if c < least[l] {
			return false
		}
	}
	return true
}

// Take returns the node that the policy chooses in a leaf bucket, or nil if no node of the bucket
// fits. The policy Random chooses a random node of those that fit. Any other policy chooses the one
// that comes first in its order (search.compare).
func (it *Iterator) Take(leaf *Bucket) *Node {
	var fitting []*entry
	for e := range leaf.entries() {
		if it.search.isCandidate(e) && it.search.accepts(e) {
			fitting = append(fitting, e)
		}
	}
	switch {
	case len(fitting) == 0:
		return nil
	case it.search.Policy == Random:
		return &fitting[it.search.Rand.IntN(len(fitting))].Node
	}
	return &slices.MinFunc(fitting, it.search.compare).Node
}

// leavesByNode returns the leaf buckets that fit the query, in the order in which the policy
// reaches their first nodes.
func (it *Iterator) leavesByNode() []Bucket {
	var leaves []Bucket
	for _, e := range it.nodesInOrder() {
		have := slices.ContainsFunc(leaves, func(b Bucket) bool { return slices.Equal(b.X, e.coord) })
		if !have && meets(e.coord, it.x) {
			leaves = append(leaves, it.search.view.bucket(e.coord))
		}
	}
	return leaves
}

// nodesInOrder returns all nodes that the query allows, in the order of the policy.
func (it *Iterator) nodesInOrder() []*entry {
	all := slices.Clone(it.search.candidates)
	if it.search.Candidates == nil {
		all = slices.AppendSeq(all, it.search.view.each)
	}
	slices.SortFunc(all, it.search.compare)
	all = slices.Compact(all)
	if it.search.Policy == Random {
		it.search.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

// isCandidate reports whether the query allows the node of an entry (Query.Candidates).
func (s *search) isCandidate(e *entry) bool {
	return s.Candidates == nil || slices.Contains(s.candidates, e)
}
