package distbucket

import (
	"sync/atomic"
)

// backlog is how many updates the tree by coordinate does not know, at most.
const deltaSize = 16

// log is the writer's end of all updates in order. The tree by coordinate does not know the last ones yet; and the tree by name knows none,
// for it leads to a node's handle, where its newest entry is: who has a view finds in the log what came later.
type log struct {
	chunk      *chunk // the last one
	seq        uint64 // of updates and new nodes, ever
	relabelSeq uint64 // what number was when a label last changed its name
}

// chunk is a part of a log. It leads to those behind it, and so a view to all that came after it; nothing leads to those before.
type chunk struct {
	updates [deltaSize]update
	count   atomic.Int32 // of updates
	next    atomic.Pointer[chunk]
}

// update is a node's entry and the one that took its place, or nil where the node was taken out.
type update struct {
	handle   *Handle
	old, new *entry
}

// enter makes e the entry of a node that is new.
func (l *log) addNode(e *entry) {
	l.seq++
	e.seq = l.seq
	e.handle.newest.Store(e)
}

// add makes an update, and notes it first: readers that come by the new entry see the update in the log.
func (l *log) addUpdate(u update) {
	l.seq++
	if u.new != nil {
		u.new.seq = l.seq
	}
	n := l.chunk.count.Load()
	l.chunk.updates[n] = u
	l.chunk.count.Store(n + 1)
	u.handle.newest.Store(u.new)
}

// full says whether the last chunk has no room.
func (l *log) full() bool { return l.chunk.count.Load() == deltaSize }

// turn begins a new chunk.
func (l *log) startChunk() {
	next := new(chunk)
	l.chunk.next.Store(next)
	l.chunk = next
}

// last returns the updates of the last chunk.
func (l *log) delta() delta {
	n := l.chunk.count.Load()
	return l.chunk.updates[:n:n]
}

// now returns the moment behind the last update.
func (l *log) position() logPosition {
	return logPosition{chunk: l.chunk, count: len(l.delta()), seq: l.seq, relabelSeq: l.relabelSeq}
}

// moment is a place in a log: behind so many updates of a chunk.
type logPosition struct {
	chunk           *chunk
	count           int
	seq, relabelSeq uint64 // the log's
}

// entry returns the entry that a node had at that moment, given the handle that was the node's then. O(1), and O(updates since) if the node has
// changed since.
func (p *logPosition) entry(h *Handle) *entry {
	e := h.newest.Load()
	if e != nil && e.seq <= p.seq {
		return e
	}
	for c, i := p.chunk, p.count; c != nil; c, i = c.next.Load(), 0 {
		for _, u := range c.updates[i:c.count.Load()] {
			if u.handle == h {
				return u.old
			}
		}
	}
	return e
}

// recent are the last updates of nodes, in order: the tree by coordinate does not know them yet.
type delta []update

// update enters updates.
func (t *tree) apply(updates delta) {
	for _, u := range updates {
		t.replace(u.old, u.new)
	}
}

// stale says whether an entry is no longer the newest of its node.
func (d delta) supersedes(e *entry) bool {
	for i := range d {
		if d[i].old == e {
			return true
		}
	}
	return false
}

// newest returns the newest entry of a node, given one.
func (d delta) newest(e *entry) *entry {
	for i := range d {
		if d[i].old == e {
			e = d[i].new
		}
	}
	return e
}

// news appends the newest entries that the tree does not know and that cover the request, the first by policy first.
func (s *search) matchingDelta(dst []*entry) []*entry {
	for i, u := range s.view.delta {
		if !u.new.Free.Covers(s.Request) || s.view.delta[i+1:].supersedes(u.new) {
			continue
		}
		dst = append(dst, u.new)
		for k := len(dst) - 1; k > 0 && s.compare(dst[k], dst[k-1]) < 0; k-- {
			dst[k], dst[k-1] = dst[k-1], dst[k]
		}
	}
	return dst
}
