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
	keyZ  key
	code  code
	home  code // the one that keyZ was made from
	*hold      // what is reserved of the node, if the entry is one of Reserving.held
}

// wander is how far a node may go before it gets another place on the Z-order curve.
const wander = 8

// stay keeps the place of the entry that e comes after on the Z-order curve, if it is not far. The place need not be exact: it only decides
// whose maxima are taken together, and most changes of a node are small.
func (e *entry) stay(old *entry) {
	if e.code.far(&old.home) <= wander {
		e.keyZ, e.home = old.keyZ, old.home
	}
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
	e.keyX, _, _ = packX(e.x)
	e.keyZ, e.home = packZ(e.code, s.dims()), e.code
	return e, nil
}
