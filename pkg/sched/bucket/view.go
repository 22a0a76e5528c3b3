package bucket

// View is an index as it was at one moment. It never changes: any number of goroutines may ask it at once.
type View struct{}

// Len returns the number of nodes.
func (v View) Len() int { return 0 }

// Node returns the node of that name, or nil.
func (v View) Node(name string) *Node { return nil }

// Pick returns up to n nodes that really fit, the best by policy first; none at all if none fits.
func (v View) Pick(q Query, n int) []*Node { return v.AppendPick(nil, q, n) }

// AppendPick is Pick into a slice that the caller owns.
func (v View) AppendPick(dst []*Node, q Query, n int) []*Node { return dst }

// Leaves returns the walk over the leaves that hold a node whose coordinate fits, the best by policy first.
func (v View) Leaves(q Query) *Iterator { return &Iterator{} }
