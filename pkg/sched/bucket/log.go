package bucket

import "sync/atomic"

// backlog is how many updates the tree by coordinate does not know, at most.
const backlog = 16

// log is the writer's end of all updates in order. The tree by coordinate does not know the last ones yet; and the tree by name knows none,
// for it leads to a node's seat, where its newest entry is: who has a view finds in the log what came later.
type log struct {
	chunk  *chunk // the last one
	number uint64 // of updates and new nodes, ever
}

// chunk is a part of a log. It leads to those behind it, so that a view that is kept keeps all that came later, and nothing keeps what no view
// needs.
type chunk struct {
	updates [backlog]update
	count   atomic.Int32 // of updates
	next    atomic.Pointer[chunk]
}

// update is a node's entry and the one that took its place, or nil where the node was taken out.
type update struct {
	seat     *Seat
	old, now *entry
}

// add notes an update and makes it. Readers that come by the new entry see the update in the log.
func (l *log) add(u update) {
	l.number++
	if u.now != nil {
		u.now.number = l.number
	}
	n := l.chunk.count.Load()
	l.chunk.updates[n] = u
	l.chunk.count.Store(n + 1)
	u.seat.now.Store(u.now)
}

// full says whether the last chunk has no room.
func (l *log) full() bool { return l.chunk.count.Load() == backlog }

// turn begins a new chunk.
func (l *log) turn() {
	next := new(chunk)
	l.chunk.next.Store(next)
	l.chunk = next
}

// now returns the moment behind the last update.
func (l *log) now() moment {
	return moment{chunk: l.chunk, count: int(l.chunk.count.Load()), number: l.number}
}

// moment is a place in a log: behind so many updates of a chunk.
type moment struct {
	chunk  *chunk
	count  int
	number uint64
}

// entry returns the entry that a node had at that moment, of which the tree by name as it was then has an entry.
func (m *moment) entry(e *entry) *entry {
	now := e.seat.now.Load()
	if now != nil && now.number <= m.number {
		return now
	}
	for c, i := m.chunk, m.count; c != nil; c, i = c.next.Load(), 0 {
		for _, u := range c.updates[i:c.count.Load()] {
			if u.seat == e.seat {
				return u.old
			}
		}
	}
	return now
}
