package distbucket

import "sync/atomic"

// deltaSize is the largest number of updates that are not yet in the tree by coordinate (see
// Index). When these updates are put into the tree, each page that they change is copied once. With
// a larger number, more updates share such a copy, so there is less garbage. But searches examine
// these updates one after another. With 16 updates, the garbage collector saves more time than the
// searches lose.
const deltaSize = 16

// log is the sequence of all updates of an index, to which the writer of the index appends. It has
// two purposes:
//
//   - The tree by coordinate lacks the newest updates, which are called the delta. A view has the
//     delta, and its searches read the delta in addition to the tree.
//
//   - The tree by name refers to a node's handle, which has the newest entry of the node. A reader
//     of an older view needs the entry that the node had when the view was made. To find this
//     entry, it follows the log from the view's position.
//
//     chunk ─next─► chunk ─next─► chunk          handle ─newest─► entry
//     ▲ position of a view
//
// Chunks are linked only from older to newer ones. So a chunk stays in memory only if it is the
// newest one, or if it can be reached from a view. It can be reached if a view's position is in
// this chunk or in an older one. The garbage collector frees all other chunks.
type log struct {
	chunk *chunk // the newest chunk, to which updates are appended
	seq   uint64 // number of updates and added nodes so far
	// A Cursor (a position in the order of names) has the label of a node, an integer that stands
	// for the name. Two events can make this label invalid: the removal of a node, and a call of
	// relabel, which gives all nodes new labels. relabelSeq is the value of seq at the last such
	// event. The label of a Cursor may be invalid if the field `seq` of the Cursor is not greater
	// than relabelSeq.
	relabelSeq uint64
}

// chunk is a part of the log, with up to deltaSize updates. The field `count` is the number of
// updates. The writer stores an update before it increases `count`, so readers may read all counted
// updates at any time.
type chunk struct {
	updates [deltaSize]update
	count   atomic.Int32
	next    atomic.Pointer[chunk]
}

// update is the change of a node from an old entry to a new one. The field `new` is nil if the node
// was removed.
type update struct {
	handle   *Handle
	old, new *entry
}

// addNode makes the first entry of a node visible to readers. It need not add an update to the log.
// An update tells the readers of older views which state the node had before, but older views do
// not have the new node at all. An older view may refer to the handle of the new node, but only if
// the handle was used before by a node that was removed (see AddAt). Then the reader finds the
// removal in the log, and with it the state of the removed node.
func (l *log) addNode(e *entry) {
	l.seq++
	e.seq = l.seq
	e.handle.newest.Store(e)
}

// addUpdate appends an update to the log, and then stores the new entry in the handle of the node.
// Because of this order, a reader that finds the new entry in the handle also finds the update in
// the log.
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

// full reports whether the last chunk has no room for another update.
func (l *log) full() bool { return l.chunk.count.Load() == deltaSize }

// startChunk appends an empty chunk to the log. It is called when all updates so far are in the
// tree by coordinate. The method `relabel` also calls it whenever a chunk is full: relabel adds an
// update for each node, and a chunk has room for only a few updates.
func (l *log) startChunk() {
	next := new(chunk)
	l.chunk.next.Store(next)
	l.chunk = next
}

// delta returns the updates of the last chunk, which are not yet in the tree by coordinate.
func (l *log) delta() delta {
	n := l.chunk.count.Load()
	return l.chunk.updates[:n:n]
}

// position returns the position in the log after the newest update.
func (l *log) position() logPosition {
	return logPosition{chunk: l.chunk, count: len(l.delta()), seq: l.seq, relabelSeq: l.relabelSeq}
}

// logPosition is a position in the log, after the first updates of a chunk. The field `count` is
// the number of these updates.
type logPosition struct {
	chunk           *chunk
	count           int
	seq, relabelSeq uint64 // the values of the log's fields at this position
}

// entry returns the entry that the handle's node had at the position p. The handle's node must have
// been in the index at that position. If the node has not changed since p, the method takes O(1)
// time. Otherwise it reads the updates since p until it finds the first one of this node.
//
// The method needs no lock. If the sequence number of the newest entry is not greater than that of
// p, the newest entry is also the entry at p. Otherwise an update after p has replaced the entry at
// p. So the first update of the handle after p is the one that has replaced this entry, and the
// update's field `old` is the entry at p. This update is in the log, because addUpdate stores an
// update in the log before it stores the new entry in the handle.
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

// delta has the updates of an index that are not yet in the tree by coordinate, oldest first. There
// are at most deltaSize of them.
type delta []update

// apply replaces the old entry of each update by its new entry, in the order of the updates. None
// of the updates may be a removal.
func (t *tree) apply(updates delta) {
	for _, u := range updates {
		t.replace(u.old, u.new)
	}
}

// supersedes reports whether an update of the delta has replaced the entry e.
func (d delta) supersedes(e *entry) bool {
	for i := range d {
		if d[i].old == e {
			return true
		}
	}
	return false
}

// newest returns the newest entry of the node that e belongs to, which is e if the delta has no
// update of the node.
func (d delta) newest(e *entry) *entry {
	for i := range d {
		if d[i].old == e {
			e = d[i].new
		}
	}
	return e
}
