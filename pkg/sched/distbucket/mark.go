package distbucket

// Mark is a place in the order of names: behind one. The zero value is before all. A mark made of a node is for views of the node's own index, before and
// after: in others it is anywhere.
type Mark struct {
	name   string
	label  key    // of that name, or none
	number uint64 // of the update that the node had then
}

// Behind returns the place behind a name, whether a node has it or not.
func Behind(name string) Mark { return Mark{name: name} }

// Mark returns the place behind the name of a node that an index returned. A query that goes on from there need not look for the name.
func (n *Node) Mark() Mark { return Mark{n.Name, n.label, n.number} }

// labelOf returns the greatest label in the view of a name that the mark is not before, or none. O(1) if the mark is of a node that the view,
// or one before it, has, and no node was taken out or got another label since.
func (v *View) labelOf(m Mark) key {
	if m.number > v.named && m.number <= v.number {
		return m.label
	}
	label, _ := v.byName.around(m.name)
	return label
}
