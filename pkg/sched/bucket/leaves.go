package bucket

// Iterator yields leaves one by one.
type Iterator struct{}

// Next returns the next leaf, or nil at the end.
func (it *Iterator) Next() *Leaf { return nil }

// Leaf is a bucket without wildcards: nodes with one coordinate.
type Leaf struct {
	X []int64 // the coordinate, in the order of the tree's levels
}

// Pick returns the node of the leaf that D3 takes, or nil if none really fits.
func (l *Leaf) Pick() *Node { return nil }
