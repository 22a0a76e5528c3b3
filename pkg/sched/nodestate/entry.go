package nodestate

import (
	"iter"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// Entry has the state of one node. The node's records refer to it in their field Source. If pods
// are assigned to a node that is not known yet or was removed, there is also an Entry for that
// node.
//
// The data that the filters keep about the node is read with Foreign and set with SetForeign. Only
// one subscriber may call SetForeign, and only while it handles an event. Subscribers handle an
// event before the node's record changes. So if a reader calls Newest first and then Foreign, the
// data takes into account every event that the record takes into account.
type Entry struct {
	sched.Slot // the newest record, and the data that the filters keep about the node
	name       string
	known      bool                // the node exists
	stale      bool                // the indexes do not have the newest record yet
	indexed    *sched.Reservation  // the reservation in the indexes
	handles    []distbucket.Handle // one for each index; nil if the node is not in the indexes
	pods       []*Assignment       // in any order

	// Storage for the elements of the fields `handles` and `pods`, if there are few. It saves two
	// further memory allocations for each node. With 100,000 nodes, each further memory allocation
	// would cost a cache miss.
	handleStore [1]distbucket.Handle
	podStore    [8]*Assignment
}

// newEntry returns an entry without a record and without assignments.
func newEntry(name string) *Entry {
	e := &Entry{name: name}
	e.pods = e.podStore[:0]
	return e
}

// Name returns the node's name.
func (e *Entry) Name() string { return e.name }

// Assignments yields the assignments on the node, in any order. The caller must hold the state's
// lock: outside this package, only subscribers may call it, and only while they handle an event.
func (e *Entry) Assignments() iter.Seq[*Assignment] {
	return func(yield func(*Assignment) bool) {
		for _, a := range e.pods {
			if !yield(a) {
				return
			}
		}
	}
}

// makeHandles sets e.handles to the given number of unused handles, one for each index.
func (e *Entry) makeHandles(count int) {
	e.handles = e.handleStore[:]
	if count > len(e.handleStore) {
		e.handles = make([]distbucket.Handle, count)
	}
}

// add adds an assignment to e.pods, and stores in the assignment where it is: its Entry and its
// index.
func (e *Entry) add(assignment *Assignment) {
	assignment.entry, assignment.index = e, len(e.pods)
	e.pods = append(e.pods, assignment)
}

// replace stores a newer assignment (`now`) of a pod in place of its older assignment (`was`).
func (e *Entry) replace(was, now *Assignment) {
	now.entry, now.index = e, was.index
	e.pods[was.index] = now
}

// remove removes an assignment from e.pods, and moves the last assignment to the index that is now
// free.
func (e *Entry) remove(assignment *Assignment) {
	last := len(e.pods) - 1
	e.pods[assignment.index], e.pods[last].index = e.pods[last], assignment.index
	e.pods[last] = nil
	e.pods = e.pods[:last]
}

// Entry returns the entry of the node with this name, or nil if there is none. It takes no lock.
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

// Callers of the methods below must hold s.mu.

// makeEntry returns the entry of the node with this name. It creates the entry if there is none.
func (s *State) makeEntry(name string) *Entry {
	if entry := s.Entry(name); entry != nil {
		return entry
	}
	e := newEntry(name)
	s.entries.Store(name, e)
	return e
}

// deleteUnused deletes an entry without assignments if its node does not exist. If the indexes
// still have the node, the next index update removes the node from them.
func (s *State) deleteUnused(entry *Entry) {
	if !entry.known && len(entry.pods) == 0 {
		s.entries.Delete(entry.name)
	}
}

// setRecord sets the newest record of an entry, and marks the entry as stale, because the indexes do
// not have this record yet. The argument `record` is nil if the node was removed.
//
// The version of the new record is the version of the old record plus 1. If there is no old record,
// the version is the number of changes of all records so far, including this change. No record has
// a version above this number, because each change of a record adds 1 to the number, and at most 1
// to the version of the record. So a node that is removed and added again gets a higher version
// than it ever had.
func (s *State) setRecord(entry *Entry, record *sched.Node) {
	s.mu.changes++
	if record != nil {
		record.Version, record.Source = s.mu.changes, entry
		if old := entry.Newest(); old != nil {
			record.Version = old.Version + 1
		}
	}
	entry.SetNewest(record)
	if !entry.stale {
		entry.stale = true
		s.mu.stale = append(s.mu.stale, entry)
	}
	s.stale.Store(true)
}
