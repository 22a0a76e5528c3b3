package sched

import "sync/atomic"

// RecordSource provides the records of one node.
type RecordSource interface {
	Newest() *Node // nil if the node was removed
	// Foreign returns the data about the node that an adapter (code that translates Kubernetes
	// objects) has stored, or nil if there is none. The data is never older than a record that Newest
	// has returned before.
	Foreign() any
}

// Slot is a RecordSource that stores the data of one node. Its owner (package nodestate) writes the
// data. The Slot has all data of the node that a scheduling decision needs, so those who read it
// need not call the owner. Any number of goroutines may read it.
type Slot struct {
	newest  atomic.Pointer[Node]
	foreign atomic.Value
}

// Newest returns the node's record, or nil if the node was removed.
func (s *Slot) Newest() *Node { return s.newest.Load() }

// SetNewest sets the record that Newest returns. Only the owner of the slot may call it.
func (s *Slot) SetNewest(n *Node) { s.newest.Store(n) }

// Foreign returns the data about the node that SetForeign has stored, or nil.
func (s *Slot) Foreign() any { return s.foreign.Load() }

// SetForeign sets the data that Foreign returns. The data of all calls must have the same Go type.
func (s *Slot) SetForeign(known any) { s.foreign.Store(known) }
