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
	due, gains := c.tending.due[:0], c.mu.gains
	for _, s := range c.mu.waiting {
		due = append(due, duty{s, s.slot.Newest()})
		s.waits = false
	}
	clear(c.mu.waiting)
	c.mu.waiting = c.mu.waiting[:0]
	c.stale.Store(false)
	c.mu.Unlock()

	for _, d := range due {
		c.index(d.site, d.record)
	}
	c.publish(gains)
	clear(due)
	c.tending.due = due
}

// duty is a site that waits, and its record when a view was made.
type duty struct {
	*site
	record *sched.Node
}

// index makes the indexes know a site's record. A name that is back may have
// another site: the old one is then gone from the indexes first, for sites wait
// in the order in which they changed.
func (c *Center) index(s *site, record *sched.Node) {
	known := s.seats != nil
	if !known && record != nil {
		s.sit(len(c.tending.indexes))
	}
	for i, index := range c.tending.indexes {
		if record == nil {
			if known {
				must(index.Remove(s.name))
			}
			continue
		}
		c.tending.free = c.profiles[i].Space.AppendNode(c.tending.free[:0], record)
		node := distbucket.Node{Name: s.name, Free: c.tending.free, Record: &s.slot}
		if !known {
			must(index.AddAt(&s.seats[i], node))
		}
		s.enterIndex(index, &s.seats[i], node, record)
		if record.Reserved != nil {
			must(index.Reserve(s.name, record.Reserved.UID, held(node.Free, c.profiles[i].Space.Node(record.For("")))))
		}
	}
	if record == nil {
		s.seats, s.held = nil, nil
	} else {
		s.held = record.Reserved
	}
}

// enterIndex updates a node, and gives up what was reserved on it.
func (s *site) enterIndex(index *distbucket.Reserving, seat *distbucket.Handle, node distbucket.Node, record *sched.Node) {
	switch {
	case s.held != nil && s.held != record.Reserved:
		index.Release(s.name, s.held.UID)
		must(index.UpdateAt(seat, node))
	case record.Reserved != nil || !slices.Equal(node.Free, seat.Node().Free):
		must(index.UpdateAt(seat, node))
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
