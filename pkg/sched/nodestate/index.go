package nodestate

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// These methods need c.tending.

// tend brings the indexes up to date with the records and makes a new view.
func (c *Center) tend() {
	c.mu.Lock()
	due, gains := c.tending.due[:0], c.freedSeq.Load()
	for _, e := range c.mu.stale {
		due = append(due, duty{e, e.Newest()})
		e.stale = false
	}
	clear(c.mu.stale)
	c.mu.stale = c.mu.stale[:0]
	c.stale.Store(false)
	c.mu.Unlock()

	for _, d := range due {
		c.index(d.Entry, d.record)
	}
	c.publish(gains)
	clear(due)
	c.tending.due = due
}

// duty is an entry that the indexes do not know, and its record when a view was made.
type duty struct {
	*Entry
	record *sched.Node
}

// index makes the indexes know an entry's record. A name that is back may have
// another entry: the old one is then gone from the indexes first, for entries wait
// in the order in which they changed.
func (c *Center) index(e *Entry, record *sched.Node) {
	known := e.handles != nil
	if !known && record != nil {
		e.makeHandles(len(c.tending.indexes))
	}
	for i, index := range c.tending.indexes {
		if record == nil {
			if known {
				must(index.Remove(e.name))
			}
			continue
		}
		c.tending.free = c.profiles[i].Space.AppendNode(c.tending.free[:0], record)
		node := distbucket.Node{Name: e.name, Free: c.tending.free, Record: &e.slot}
		if !known {
			must(index.AddAt(&e.handles[i], node))
		}
		e.enterIndex(index, &e.handles[i], node, record)
		if record.Reserved != nil {
			must(index.Reserve(e.name, record.Reserved.UID, held(node.Free, c.profiles[i].Space.Node(record.For("")))))
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
func (c *Center) publish(gains uint64) {
	v := &View{Gains: gains, profiles: c.profiles}
	v.indexes = v.room[:0]
	for _, index := range c.tending.indexes {
		v.indexes = append(v.indexes, index.View())
	}
	c.view.Store(v)
}

// must asserts what the centre guarantees: what it updates in an index is
// there, what it adds is not, and a node holds one reservation.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
