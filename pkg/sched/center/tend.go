package center

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
)

// These methods need c.tending.

// tend brings the indexes up to date with the records and makes a new view.
func (c *Center) tend() {
	c.mu.Lock()
	waiting, gains := c.mu.waiting, c.mu.gains
	records := make([]*sched.Node, len(waiting))
	for i, s := range waiting {
		records[i], s.waits = s.slot.Newest(), false
	}
	c.mu.waiting = nil
	c.stale.Store(false)
	c.mu.Unlock()

	for i, s := range waiting {
		c.index(s, records[i])
	}
	c.publish(gains)
}

// index makes the indexes know a site's record. A name that is back may have
// another site: the old one is then gone from the indexes first, for sites wait
// in the order in which they changed.
func (c *Center) index(s *site, record *sched.Node) {
	old := s.indexed
	s.indexed = record
	for i, index := range c.tending.indexes {
		switch {
		case record == nil && old != nil:
			must(index.Remove(s.name))
		case record != nil:
			c.enterIndex(index, c.profiles[i].Space.Node, s, old, record)
		}
	}
}

// enterIndex adds or updates a node, with what is reserved on it.
func (c *Center) enterIndex(index *bucket.Reserving, space func(*sched.Node) []int64, s *site, old, record *sched.Node) {
	node := bucket.Node{Name: s.name, Free: space(record), Record: &s.slot}
	switch {
	case old == nil:
		must(index.Add(node))
	case old.Reserved != nil && old.Reserved != record.Reserved:
		index.Release(s.name, old.Reserved.UID)
		must(index.Update(node))
	case record.Reserved != nil || !slices.Equal(node.Free, space(old)):
		must(index.Update(node))
	}
	if record.Reserved != nil {
		left := space(record.For(""))
		for d := range left {
			left[d] = max(0, node.Free[d]-left[d])
		}
		must(index.Reserve(s.name, record.Reserved.UID, left))
	}
}

// publish makes the newest view.
func (c *Center) publish(gains uint64) {
	v := &View{Gains: gains, profiles: c.profiles, indexes: make([]bucket.ReservingView, len(c.tending.indexes))}
	for i, index := range c.tending.indexes {
		v.indexes[i] = index.View()
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
