package distbucket

import (
	"iter"
	"strconv"
	"strings"
)

// Bucket holds the nodes whose coordinate begins with X; what X leaves out are wildcards. No number is the root, a number for each level a
// leaf. No bucket is stored: one is a range of the tree of coordinates, found when it is asked for.
type Bucket struct {
	X    []int64 // in the order of the tree's levels
	view *View
	span // of the tree byX
}

// Root returns (*,…,*), which holds every node.
func (v View) Root() Bucket {
	v = v.settled()
	return Bucket{view: &v, span: span{0, v.Len()}}
}

// Len returns the number of nodes in the bucket.
func (b Bucket) Len() int { return b.hi - b.lo }

// Leaf says whether the bucket has no wildcard.
func (b Bucket) Leaf() bool { return len(b.X) == b.view.space.dims() }

// String returns the coordinate as people write it: "(5,*)".
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
			if !yield(b.view.byX.at(r)) {
				return
			}
		}
	}
}

// Children yields the buckets that fix one more entry, the smallest index first. None of them is empty.
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

// child returns the child that holds the node of rank r.
func (b Bucket) child(r int) Bucket {
	return b.view.bucket(b.view.byX.at(r).x[:len(b.X)+1])
}

// bucket returns the bucket of that coordinate.
func (v *View) bucket(x []int64) Bucket {
	return Bucket{X: x, view: v, span: v.byX.under(x)}
}
