package distbucket

import (
	"fmt"
	"sync/atomic"
)

// Seat is a node's place in an index, for as long as the node is in it. Who keeps it updates the node without a search for its name, which
// among 100,000 costs three times what it costs among 1,000: a map that large is nowhere near the processor. The zero value is a free one.
type Seat struct {
	now atomic.Pointer[entry] // nil where the node was taken out
	of  *Index                // once it was taken; for good
}

// Node returns the node as the index has it, or nil where the node was taken out. It is for the writer.
func (s *Seat) Node() *Node {
	if e := s.now.Load(); e != nil {
		return &e.Node
	}
	return nil
}

// Seat returns the seat of the node of that name, or nil.
func (x *Index) Seat(name string) *Seat { return x.seats[name] }

// UpdateAt is Update of the node in a seat, whose name it keeps.
func (x *Index) UpdateAt(s *Seat, n Node) error {
	old := s.now.Load()
	if old == nil || s.of != x || old.Name != n.Name {
		return fmt.Errorf("update node %q: the seat is not its own", n.Name)
	}
	e, err := x.space.entry(n)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	e.label, e.seat = old.label, s
	if x.log.add(update{s, old, e}); x.log.full() {
		x.settle()
	}
	return nil
}

// Seat returns the seat of the node of that name, or nil.
func (r *Reserving) Seat(name string) *Seat { return r.left.Seat(name) }

// UpdateAt is Update of the node in a seat, whose name it keeps.
func (r *Reserving) UpdateAt(s *Seat, n Node) error {
	if old := r.held.find(n.Name); old != nil {
		return r.hold(n, old.hold)
	}
	return r.left.UpdateAt(s, n)
}
