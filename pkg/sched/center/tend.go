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
	known := s.seats != nil
	for i, index := range c.tending.indexes {
		switch {
		case record == nil && known:
			must(index.Remove(s.name))
		case record != nil && !known:
			must(index.Add(bucket.Node{Name: s.name, Free: c.profiles[i].Space.Node(record), Record: &s.slot}))
			s.seats = append(s.seats, index.Seat(s.name))
			fallthrough
		case record != nil:
			s.enterIndex(index, s.seats[i], c.profiles[i].Space.Node, record)
		}
	}
	if record == nil {
		s.seats, s.held = nil, nil
	} else {
		s.held = record.Reserved
	}
}

// enterIndex updates a node, and what is reserved on it.
func (s *site) enterIndex(index *bucket.Reserving, seat *bucket.Seat, space func(*sched.Node) []int64, record *sched.Node) {
	node := bucket.Node{Name: s.name, Free: space(record), Record: &s.slot}
	switch {
	case s.held != nil && s.held != record.Reserved:
		index.Release(s.name, s.held.UID)
		must(index.UpdateAt(seat, node))
	case record.Reserved != nil || !slices.Equal(node.Free, seat.Node().Free):
		must(index.UpdateAt(seat, node))
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
