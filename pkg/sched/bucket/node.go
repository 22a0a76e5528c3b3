package bucket

import "fmt"

// Node is an element of the index. Who adds it gives it away: neither the vector nor what Record points to may change afterwards, for
// readers see them without a lock.
type Node struct {
	Name   string
	Free   Vector
	Record any // what the owner keeps with the node; the index only carries it
}

// entry is a node in its place. It never changes; trees of all orders and all views share it.
type entry struct {
	Node
	x     []int64 // the coordinate
	keyX  key
	whole bool // keyX is: no other coordinate has it
	label key  // of the name
	code  code
	*hold // what is reserved of the node, if the entry is one of Reserving.held
}

// hold is an amount set aside for a task.
type hold struct {
	task    string
	amounts Vector
}

// entry returns the node in its place, or says what is wrong with the node.
func (s space) entry(n Node) (*entry, error) {
	if err := s.check(n.Free); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	e := &entry{Node: n, x: s.coordinate(n.Free), code: encode(n.Free)}
	e.keyX, _, e.whole = packX(e.x)
	return e, nil
}
