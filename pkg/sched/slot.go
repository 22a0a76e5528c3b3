package sched

import "sync/atomic"

// RecordSource provides the records of one node.
type RecordSource interface {
	Newest() *Node // nil if the node was removed
	// Foreign returns the data about the node that an adapter (code that translates Kubernetes
	// objects) has stored, or nil if there is none. If a reader calls Newest first and then Foreign,
	// the data is never older than the record that Newest returned.
	Foreign() any
}

// Slot is a RecordSource that stores the data of one node. Package nodestate stores the records, and
// an adapter stores its own data with SetForeign. A Slot has all data of the node that a scheduling
// decision needs, so its readers need not call package nodestate. Any number of goroutines may read
// a Slot.
type Slot struct {
	newest  atomic.Pointer[Node]
	foreign atomic.Value
}

// Newest returns the node's record, or nil if the node was removed.
func (s *Slot) Newest() *Node { return s.newest.Load() }

// SetNewest sets the record that Newest returns. Only package nodestate may call SetNewest.
func (s *Slot) SetNewest(n *Node) { s.newest.Store(n) }

// Foreign returns the data that the last call of SetForeign stored, or nil if there was no call.
func (s *Slot) Foreign() any { return s.foreign.Load() }

// SetForeign sets the data that Foreign returns. The data of all calls must have the same Go type.
func (s *Slot) SetForeign(known any) { s.foreign.Store(known) }
