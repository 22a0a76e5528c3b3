package distbucket

import "iter"

// View is an index as it was at one moment. It never changes: any number of goroutines may ask it at once.
type View struct {
	space *space
	trees
	recent recent // what the tree by coordinate did not know at the moment
	moment
}

// settled returns the view with a tree that knows everything, for who goes by buckets.
func (v View) settled() View {
	v.byX.update(v.recent)
	v.seal()
	v.recent = nil
	return v
}

// Len returns the number of nodes.
func (v View) Len() int { return v.byName.size() }

// Node returns the node of that name, or nil.
func (v View) Node(name string) *Node {
	if e := v.find(name); e != nil {
		return &e.Node
	}
	return nil
}

// Coordinate returns ⌈amount/θ⌉ per dimension, in the order of the tree's levels: where a node with this much free is, or where a task that
// requests it begins to look.
func (v View) Coordinate(amounts Vector) []int64 { return v.space.coordinate(amounts) }

// Nodes yields all nodes in order of their names.
func (v View) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		v.each(func(e *entry) bool { return yield(&e.Node) })
	}
}

// find returns the entry of that name, or nil.
func (v *View) find(name string) *entry {
	e := v.byName.find(name)
	if e == nil {
		return nil
	}
	return v.entry(e.seat)
}

// each yields all entries in order of their names.
func (v *View) each(yield func(*entry) bool) {
	v.byName.each(func(e *entry) bool { return yield(v.entry(e.seat)) })
}
