package nodestate

import (
	"iter"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// Entry is a node, or the name of one that is not known (yet, or any more) but has
// assignments.
type Entry struct {
	name    string
	known   bool                // as a node
	stale   bool                // the indexes lag behind the record
	slot    Slot                // the newest record
	foreign atomic.Value        // what an adapter's filters know of the node
	indexed *sched.Reservation  // as the indexes know it
	handles []distbucket.Handle // in the indexes; nil if they do not know the node
	pods    []*Assignment       // in any order

	// The handles and pods themselves, if they are few. Whatever a decision touches of
	// a node is one page of memory to find if it is in one piece, of 100,000 nodes.
	handleRoom [1]distbucket.Handle
	podRoom    [8]*Assignment
}

// newEntry returns one that is not a node (yet) and has no assignments.
func newEntry(name string) *Entry {
	e := &Entry{name: name}
	e.pods = e.podRoom[:0]
	return e
}

// Name returns the node's name.
func (e *Entry) Name() string { return e.name }

// Assignments yields what pods hold on the node, in any order. Only subscribers may
// call it, within their call.
func (e *Entry) Assignments() iter.Seq[*Assignment] {
	return func(yield func(*Assignment) bool) {
		for _, a := range e.pods {
			if !yield(a) {
				return
			}
		}
	}
}

// Slot has the newest record of a node. Indexes carry it.
type Slot struct{ newest atomic.Pointer[sched.Node] }

// Newest returns the node's record, or nil where the node is gone.
func (s *Slot) Newest() *sched.Node { return s.newest.Load() }

// Newest makes an entry, with Foreign, the sched.RecordSource of its records.
func (e *Entry) Newest() *sched.Node { return e.slot.Newest() }

// Foreign returns what an adapter's filters know of the node, nil for nothing.
func (e *Entry) Foreign() any { return e.foreign.Load() }

// SetForeign sets what Foreign returns, of one type for all. Only one subscriber may
// call it, within its call: so that it is never older than the record of the same
// moment.
func (e *Entry) SetForeign(known any) { e.foreign.Store(known) }

// makeHandles gives an entry free handles in so many indexes.
func (e *Entry) makeHandles(count int) {
	e.handles = e.handleRoom[:]
	if count > len(e.handleRoom) {
		e.handles = make([]distbucket.Handle, count)
	}
}

// add lists an assignment.
func (e *Entry) add(a *Assignment) {
	a.entry, a.index = e, len(e.pods)
	e.pods = append(e.pods, a)
}

// replace lists an assignment in place of another. O(1).
func (e *Entry) replace(was, now *Assignment) {
	now.entry, now.index = e, was.index
	e.pods[was.index] = now
}

// remove takes an assignment off the list, and puts the last one in its place. O(1).
func (e *Entry) remove(a *Assignment) {
	last := len(e.pods) - 1
	e.pods[a.index], e.pods[last].index = e.pods[last], a.index
	e.pods[last] = nil
	e.pods = e.pods[:last]
}

// Entry returns the entry of that name, or nil. It takes no lock.
func (s *State) Entry(name string) *Entry {
	if e, ok := s.entries.Load(name); ok {
		return e.(*Entry)
	}
	return nil
}

// Entries yields all entries, in any order. It takes no lock.
func (s *State) Entries() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		s.entries.Range(func(_, e any) bool { return yield(e.(*Entry)) })
	}
}

// These methods need s.mu.

// makeEntry returns the entry of that name, made if there is none.
func (s *State) makeEntry(name string) *Entry {
	if e := s.Entry(name); e != nil {
		return e
	}
	e := newEntry(name)
	s.entries.Store(name, e)
	return e
}

// deleteUnused deletes an entry that is neither a node nor has assignments. The
// indexes still learn that it is gone.
func (s *State) deleteUnused(e *Entry) {
	if !e.known && len(e.pods) == 0 {
		s.entries.Delete(e.name)
	}
}

// setRecord makes a record, or none, the newest of an entry, and notes that the
// indexes do not know it. Its version is one more than the last one's; a node that is
// new, or back, starts above any that it ever had, for all records together changed at
// least as often as that one.
func (s *State) setRecord(e *Entry, record *sched.Node) {
	s.mu.changes++
	if record != nil {
		record.Version, record.Source = s.mu.changes, e
		if old := e.Newest(); old != nil {
			record.Version = old.Version + 1
		}
	}
	e.slot.newest.Store(record)
	if !e.stale {
		e.stale = true
		s.mu.stale = append(s.mu.stale, e)
	}
	s.stale.Store(true)
}
