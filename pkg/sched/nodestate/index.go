package nodestate

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// These methods need s.indexing.

// updateIndexes brings the indexes up to date with the records and makes a new view.
func (s *State) updateIndexes() {
	s.mu.Lock()
	due, gains := s.indexing.due[:0], s.freedSeq.Load()
	for _, e := range s.mu.stale {
		due = append(due, duty{e, e.Newest()})
		e.stale = false
	}
	clear(s.mu.stale)
	s.mu.stale = s.mu.stale[:0]
	s.stale.Store(false)
	s.mu.Unlock()

	for _, d := range due {
		s.index(d.Entry, d.record)
	}
	s.publish(gains)
	clear(due)
	s.indexing.due = due
}

// duty is an entry that the indexes do not know, and its record when a view was made.
type duty struct {
	*Entry
	record *sched.Node
}

// index makes the indexes know an entry's record. A name that is back may have
// another entry: the old one is then gone from the indexes first, for entries wait
// in the order in which they changed.
func (s *State) index(e *Entry, record *sched.Node) {
	known := e.handles != nil
	if !known && record != nil {
		e.makeHandles(len(s.indexing.indexes))
	}
	for i, index := range s.indexing.indexes {
		if record == nil {
			if known {
				must(index.Remove(e.name))
			}
			continue
		}
		s.indexing.free = s.profiles[i].Space.AppendNode(s.indexing.free[:0], record)
		node := distbucket.Node{Name: e.name, Free: s.indexing.free, Record: &e.slot}
		if !known {
			must(index.AddAt(&e.handles[i], node))
		}
		e.enterIndex(index, &e.handles[i], node, record)
		if record.Reserved != nil {
			must(index.Reserve(e.name, record.Reserved.UID, held(node.Free, s.profiles[i].Space.Node(record.For("")))))
		}
	}
	if record == nil {
		e.handles, e.indexed = nil, nil
	} else {
		e.indexed = record.Reserved
	}
}

// enterIndex updates a node, and gives up what was reserved on it.
func (e *Entry) enterIndex(index *distbucket.Reserving, handle *distbucket.Handle, node distbucket.Node, record *sched.Node) {
	switch {
	case e.indexed != nil && e.indexed != record.Reserved:
		index.Release(e.name, e.indexed.UID)
		must(index.UpdateAt(handle, node))
	case record.Reserved != nil || !slices.Equal(node.Free, handle.Node().Free):
		must(index.UpdateAt(handle, node))
	}
}

// held returns what is reserved of a node: what is free on it, less what others have left.
func held(free, left []int64) []int64 {
	for d := range left {
		left[d] = max(0, free[d]-left[d])
	}
	return left
}

// publish makes the newest view.
func (s *State) publish(gains uint64) {
	v := &View{FreedSeq: gains, profiles: s.profiles}
	v.indexes = v.room[:0]
	for _, index := range s.indexing.indexes {
		v.indexes = append(v.indexes, index.View())
	}
	s.view.Store(v)
}

// must asserts what the state guarantees: what it updates in an index is
// there, what it adds is not, and a node holds one reservation.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
