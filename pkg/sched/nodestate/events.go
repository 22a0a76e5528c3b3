package nodestate

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Kind is the kind of an Event.
type Kind uint8

// Kinds of events.
const (
	// Placed: a pod was placed on a node by a decision. Now is the assignment.
	Placed Kind = iota
	// Bound: a pod is known to be bound, or what it holds has changed. Now is the
	// assignment. Was is the assignment that it replaces, possibly on another node, or nil.
	Bound
	// Released: a pod has ended, or is Gone. Was is its assignment, or nil.
	Released
	// Undone: a decision could not be bound. Was is the assignment that it had made.
	Undone
	// NodeChanged: a node is new, has changed, or is gone (a nil Node). Its assignments
	// are unchanged.
	NodeChanged
	kinds
)

// Event is one change. Subscribers must not modify what its pointers refer to, and may
// read the assignments of Entry only during their call.
type Event struct {
	Kind  Kind
	UID   string // of the pod; "" for NodeChanged
	Entry *Entry // of the node; nil if a released pod had no assignment
	// Node is the node's record, nil if the node is unknown. For NodeChanged it is the
	// record after the change, otherwise the one before it.
	Node     *sched.Node
	Now, Was *Assignment
	Gone     bool // Released: the pod was deleted, and no event of it follows
}

// Subscriber is called for events, under the state's lock and before the node's record
// changes. All subscribers see the same order. It must not call the state.
type Subscriber func(Event)

// Subscribe adds a subscriber of some kinds of events, or of all if none is given. It is
// called after the subscribers that were added before. It must be added before the first
// change.
//
// A decision is an event of its own kind, because most subscribers do not need it: the state's lock
// is held while subscribers run, and the committer waits for the lock.
func (s *State) Subscribe(f Subscriber, some ...Kind) {
	for kind := range kinds {
		if len(some) == 0 || slices.Contains(some, kind) {
			s.subscribers[kind] = append(s.subscribers[kind], f)
		}
	}
}

// OnFreed adds a function that is called with a node's newest record after resources
// became free there: a pod ended or holds less, or the node changed, but not for Undo. It
// is called without a lock and may call the state. It must be added before the first
// change.
func (s *State) OnFreed(f func(*sched.Node)) { s.onFreed = append(s.onFreed, f) }

// emit calls the subscribers. It needs s.mu.
func (s *State) emit(e Event) {
	for _, observe := range s.subscribers[e.Kind] {
		observe(e)
	}
}

// freed calls the functions of OnFreed if the node is known. s.mu must not be held.
func (s *State) freed(entry *Entry) {
	record := entry.Newest()
	if record == nil {
		return
	}
	for _, f := range s.onFreed {
		f(record)
	}
}
