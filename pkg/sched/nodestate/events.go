package nodestate

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Kind is the kind of an Event.
type Kind uint8

// Kinds of events.
const (
	// Placed: this scheduler has decided on a node for a pod (State.Place). The field Now has the
	// assignment.
	Placed Kind = iota
	// Bound: a pod is known to be bound, or a bound pod holds different resources than before. The
	// field Now has the new assignment. The field Was has the assignment that this one replaces,
	// possibly on another node, or nil.
	Bound
	// Released: a pod has ended, or was deleted (then Gone is true). The field Was has the pod's
	// assignment, or nil.
	Released
	// Undone: a decision could not be written to the API server. The field Was has the assignment
	// of the decision, which an earlier event of kind Placed reported.
	Undone
	// NodeChanged: a node is new, has changed, or was removed (then Node is nil). The node's
	// assignments are unchanged.
	NodeChanged
	kinds
)

// Event is one change of the state. Subscribers must not modify what the pointers in it refer to.
// They may read the assignments of Entry only while they handle the event.
type Event struct {
	Kind  Kind
	UID   string // of the pod; "" for NodeChanged
	Entry *Entry // of the node; nil if a released pod had no assignment
	// Node is the node's record, or nil if the node is unknown. For NodeChanged, it is the record
	// after the change. For the other kinds, it is the record before the change.
	Node     *sched.Node
	Now, Was *Assignment
	Gone     bool // Released: the pod was deleted, and no further event of the pod follows
}

// Subscriber is called for events, under the state's lock and before the node's record
// changes. All subscribers see the events in the same order. A subscriber must not call methods of
// the state that take this lock.
type Subscriber func(Event)

// Subscribe adds a subscriber of the given kinds of events, or of all kinds if none is given.
// Subscribers are called in the order in which they were added. All subscribers must be added
// before the first change of the state.
//
// Placed is a separate kind of event, because most subscribers do not need it. If fewer subscribers
// are called for a decision, the committer (pipeline.Committer) holds the state's lock for a
// shorter time.
func (s *State) Subscribe(f Subscriber, some ...Kind) {
	for kind := range kinds {
		if len(some) == 0 || slices.Contains(some, kind) {
			s.subscribers[kind] = append(s.subscribers[kind], f)
		}
	}
}

// OnFreed adds a function that is called with a node's newest record after resources may have
// become free on the node: a pod has ended, holds different resources, or turned out to be bound to
// another node, or the node is new or has changed. State.Undo and State.Unreserve do not call the
// function. The function runs without a lock and may call methods of the state. It must be added
// before the first change of the state.
func (s *State) OnFreed(f func(*sched.Node)) { s.onFreed = append(s.onFreed, f) }

// emit calls the subscribers of the event's kind. The caller must hold s.mu.
func (s *State) emit(e Event) {
	for _, observe := range s.subscribers[e.Kind] {
		observe(e)
	}
}

// freed calls the functions that were added with OnFreed, if the node is known. The caller must not
// hold s.mu.
func (s *State) freed(entry *Entry) {
	record := entry.Newest()
	if record == nil {
		return
	}
	for _, f := range s.onFreed {
		f(record)
	}
}
