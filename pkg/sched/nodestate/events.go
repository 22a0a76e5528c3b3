package nodestate

import "github.com/numalet/numalet/pkg/sched"

// Kind is what happened.
type Kind int

// Kinds of events.
const (
	// Assigned: a pod was decided to go to a node, is known to be bound there, or
	// holds something else there now. Now is the assignment, and Was the one that it
	// replaces, maybe of another node; nil for none.
	Assigned Kind = iota + 1
	// Released: a pod has ended, or is Gone. Was is what it held, nil for nothing.
	Released
	// Undone: what was decided for a pod could not be bound. Was is what it held.
	Undone
	// NodeChanged: a node is new, has something else than before, or is gone (a nil
	// Node). Assignments on it are unchanged.
	NodeChanged
)

// Event is one change. Its pointers are only to be read, and what Entry lists only
// within the subscriber's call.
type Event struct {
	Kind  Kind
	UID   string // the pod's; "" for NodeChanged
	Entry *Entry // the node's; nil where a pod is released that held nothing
	// Node is the node's record, nil where the node is not known: for NodeChanged the
	// one that it is about to have, else the one that it had up to now.
	Node     *sched.Node
	Now, Was *Assignment
	Gone     bool // Released: the pod is deleted, and never mentioned again
}

// Subscriber is called for every event, in one order for all: under the state's lock
// and before the node's record changes. It must not call the state.
type Subscriber func(Event)

// Subscribe adds subscribers, which are called in the order of their arguments. It is
// called before the first change.
func (s *State) Subscribe(all ...Subscriber) { s.subscribers = append(s.subscribers, all...) }

// OnFreed adds a function that is called with the newest record of a node after
// something on it became free: for a pod that ended or holds less, and for a node that
// changed, but not for a decision that is undone. It is called without a lock, and may
// call the state. It is added before the first change.
func (s *State) OnFreed(f func(*sched.Node)) { s.onFreed = append(s.onFreed, f) }

// emit calls the subscribers. It needs s.mu.
func (s *State) emit(e Event) {
	for _, observe := range s.subscribers {
		observe(e)
	}
}

// freed calls those who wait for free resources, for a node that is known. It must not
// be called with s.mu.
func (s *State) freed(e *Entry) {
	record := e.Newest()
	if record == nil {
		return
	}
	for _, f := range s.onFreed {
		f(record)
	}
}
