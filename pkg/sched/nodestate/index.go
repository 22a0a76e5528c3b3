package nodestate

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// updateIndexes makes a new view. It first updates the indexes with the newest records of the stale
// entries, whose nodes have changed since the last update. If another goroutine is updating the
// indexes, updateIndexes does nothing.
//
// A profile may have a ranker, which keeps its own order of the nodes (filter.Profile.Ranker). If a
// ranker panics while it handles an entry, and the panic is recovered, the next update begins with
// the entry after that one. The entry at which the ranker panicked is updated only when its node
// changes again, so that one node cannot prevent all updates.
func (s *State) updateIndexes() {
	if !s.indexing.TryLock() {
		return
	}
	defer s.indexing.Unlock()
	v, tried, published := s.takeStale(), 0, false
	defer func() {
		s.indexing.due = slices.Delete(s.indexing.due, 0, tried)
		if !published {
			s.stale.Store(true)
		}
	}()
	for _, d := range s.indexing.due {
		tried++
		s.index(d.Entry, d.record)
	}
	s.publish(v)
	published = true
}

// Callers of the methods below must hold the lock of s.indexing.

// takeStale moves the stale entries, whose nodes have changed since the last update, to
// s.indexing.due. It returns a new view, to which the contents of the updated indexes have yet to be
// added.
func (s *State) takeStale() *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.mu.stale {
		s.indexing.due = append(s.indexing.due, indexUpdate{e, e.Newest()})
		e.stale = false
	}
	clear(s.mu.stale)
	s.mu.stale = s.mu.stale[:0]
	s.stale.Store(false)
	return &View{FreedSeq: s.freedSeq.Load(), NarrowSeq: s.narrowed.Load()}
}

// indexUpdate is an entry to update in the indexes, and the record that was the newest one of the
// entry when takeStale was called.
type indexUpdate struct {
	*Entry
	record *sched.Node
}

// index updates an entry in the indexes. A node that was removed and added again has a new entry if
// its old one was deleted (deleteUnused). The old entry is removed from the indexes before the new
// one is added, because entries are updated in the order in which they became stale. The rankers
// are called before the indexes change, so that a ranker that panics leaves the entry and the
// indexes as they were.
func (s *State) index(entry *Entry, record *sched.Node) {
	if record != nil {
		for i := range s.profiles {
			s.profiles[i].Rank(&entry.Slot, record)
		}
	}
	known := entry.handles != nil
	if !known && record != nil {
		entry.makeHandles(len(s.indexing.indexes))
	}
	for i, index := range s.indexing.indexes {
		if record == nil {
			if known {
				must(index.Remove(entry.name))
				s.profiles[i].Unrank(entry.name)
			}
			continue
		}
		s.indexing.free = s.profiles[i].Space.AppendNode(s.indexing.free[:0], record)
		node := distbucket.Node{Name: entry.name, Free: s.indexing.free, Record: &entry.Slot}
		if !known {
			must(index.AddAt(&entry.handles[i], node))
		}
		entry.enterIndex(index, &entry.handles[i], node, record)
		if record.Reserved != nil {
			must(index.Reserve(entry.name, record.Reserved.UID, held(node.Free, s.profiles[i].Space.Node(record.For("")))))
		}
	}
	if record == nil {
		entry.handles, entry.indexed = nil, nil
	} else {
		entry.indexed = record.Reserved
	}
}

// enterIndex updates a node in one index. If the node's reservation was replaced or released, and
// the index still has the earlier reservation, enterIndex removes that one from the index.
func (e *Entry) enterIndex(index *distbucket.Reserving, handle *distbucket.Handle, node distbucket.Node, record *sched.Node) {
	switch {
	case e.indexed != nil && e.indexed != record.Reserved:
		index.Release(e.name, e.indexed.UID)
		must(index.UpdateAt(handle, node))
	case record.Reserved != nil || !slices.Equal(node.Free, handle.Node().Free):
		must(index.UpdateAt(handle, node))
	}
}

// held returns the reserved amounts of a node. The parameter `free` has the free amounts of the
// node, including what is reserved. The parameter `left` has the free amounts without what is
// reserved. The function stores the difference of the two in the slice `left`, and returns this
// slice.
func held(free, left []int64) []int64 {
	for d := range left {
		left[d] = max(0, free[d]-left[d])
	}
	return left
}

// publish adds the current contents of the indexes to a view, and makes the view the newest.
func (s *State) publish(v *View) {
	v.state, v.profiles, v.indexes = s, s.profiles, v.store[:0]
	for _, index := range s.indexing.indexes {
		v.indexes = append(v.indexes, index.View())
	}
	v.nodes = v.indexes[0].Len()
	s.view.Store(v)
}

// must panics on an error of an index. Such an error cannot occur, because the state updates only
// nodes that are in the index, adds only nodes that are not in it, and reserves a node for at most
// one pod or gang.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
