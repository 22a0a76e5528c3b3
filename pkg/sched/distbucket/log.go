package distbucket

import "sync/atomic"

// deltaSize is the largest number of updates that are not yet in the tree by coordinate.
// Searches examine these updates one after another. With 16 updates this costs less than the
// garbage that they save (see Index).
const deltaSize = 16

// log is the writer's end of the sequence of updates. It serves two readers:
//
//   - The tree by coordinate lacks the newest updates, the delta. A view carries them.
//
//   - The tree by name leads to a node's handle, which has the newest entry. A reader of an older view
//     follows the log from the view's position and finds the entry that the node had then.
//
//     chunk ─next─► chunk ─next─► chunk          handle ─newest─► entry
//     ▲ position of a view
//
// Chunks are linked forwards only. A chunk lives as long as a view that is older than its updates, and
// the garbage collector frees the rest.
type log struct {
	chunk      *chunk // the last one
	seq        uint64 // number of updates and additions so far
	relabelSeq uint64 // seq when a label last changed its name, by a removal or relabel
}

// chunk is a part of the log. The writer stores an update before it raises count, so readers may read
// the first count updates.
type chunk struct {
	updates [deltaSize]update
	count   atomic.Int32
	next    atomic.Pointer[chunk]
}

// update is a change from one entry of a node to the next, or to nil if the node was removed.
type update struct {
	handle   *Handle
	old, new *entry
}

// addNode publishes the first entry of a node. It needs no update in the log: an older view does not
// lead to the handle, or finds the removal of the handle's previous node first.
func (l *log) addNode(e *entry) {
	l.seq++
	e.seq = l.seq
	e.handle.newest.Store(e)
}

// addUpdate appends an update, and only then publishes it in the handle: a reader that finds the new
// entry there also finds the update in the log.
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

// full reports whether the last chunk has no room.
func (l *log) full() bool { return l.chunk.count.Load() == deltaSize }

// startChunk appends an empty chunk: the tree by coordinate has all updates so far.
func (l *log) startChunk() {
	next := new(chunk)
	l.chunk.next.Store(next)
	l.chunk = next
}

// delta returns the updates of the last chunk.
func (l *log) delta() delta {
	n := l.chunk.count.Load()
	return l.chunk.updates[:n:n]
}

// position returns the position after the last update.
func (l *log) position() logPosition {
	return logPosition{chunk: l.chunk, count: len(l.delta()), seq: l.seq, relabelSeq: l.relabelSeq}
}

// logPosition is a position in the log, after the first count updates of a chunk.
type logPosition struct {
	chunk           *chunk
	count           int
	seq, relabelSeq uint64 // of the log
}

// entry returns the entry that the handle's node had at p. The handle must have had one then. O(1) if
// the node has not changed since p, and else O(updates since p).
//
// It needs no lock. If the number of the newest entry is not greater than that of p, it is also the
// entry at p. Otherwise an update after p replaced the entry at p. The first such update of the
// handle has that entry, because addUpdate stores it in the log before the handle leads to the new
// entry.
func (p *logPosition) entry(handle *Handle) *entry {
	e := handle.newest.Load()
	if e != nil && e.seq <= p.seq {
		return e
	}
	for c, i := p.chunk, p.count; c != nil; c, i = c.next.Load(), 0 {
		for _, u := range c.updates[i:c.count.Load()] {
			if u.handle == handle {
				return u.old
			}
		}
	}
	return e
}

// delta is the sequence of updates that are not yet in the tree by coordinate. There are at
// most deltaSize.
type delta []update

// apply replaces entries as the updates say, in order. None of them may be a removal.
func (t *tree) apply(updates delta) {
	for _, u := range updates {
		t.replace(u.old, u.new)
	}
}

// supersedes reports whether the node of e has a newer entry.
func (d delta) supersedes(e *entry) bool {
	for i := range d {
		if d[i].old == e {
			return true
		}
	}
	return false
}

// newest returns the newest entry of the node of e.
func (d delta) newest(e *entry) *entry {
	for i := range d {
		if d[i].old == e {
			e = d[i].new
		}
	}
	return e
}
