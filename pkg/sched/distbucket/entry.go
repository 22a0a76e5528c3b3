package distbucket

import (
	"fmt"
)

// Node is an element of the index. Who adds it gives Record away: what it points to may not change afterwards, for readers see it without a
// lock. The vector is copied.
type Node struct {
	Name   string
	Free   Vector
	Record any // what the owner keeps with the node; the index only carries it

	// The index's own.
	label key    // of the name
	seq   uint64 // of the update that it came with
}

// entry is a node in its place. It never changes once a view may have it.
type entry struct {
	Node
	coord        []int64 // the coordinate
	coordKey     key
	exactKey     bool // keyX is: no other coordinate has it
	code         code
	handle       *Handle // of the node
	*reservation         // what is reserved of the node, if the entry is one of Reserving.held
}

// roomy is an entry with its two vectors, of so many dimensions in all: who looks at an entry looks at them, too, and elsewhere in memory they would
// be a page each to find.
type entryWithVectors struct {
	entry
	vectors [12]int64
}

// hold is an amount set aside for a task.
type reservation struct {
	task    string
	amounts Vector
}

// entry returns the node in its place, or says what is wrong with the node.
func (s space) checkedEntry(n Node) (*entry, error) {
	if err := s.check(n.Free); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	return s.newEntry(n), nil
}

// fresh returns a node whose vector has an amount for each dimension in its place.
func (s space) newEntry(n Node) *entry {
	whole := &entryWithVectors{entry: entry{Node: Node{Name: n.Name, Record: n.Record}, code: encode(n.Free)}}
	e, buf := &whole.entry, whole.vectors[:0]
	buf = append(append(buf, n.Free...), n.Free...)
	e.Free, e.coord = buf[:len(n.Free):len(n.Free)], buf[len(n.Free):]
	s.coordinateInto(e.coord, n.Free)
	e.coordKey, _, e.exactKey = packCoord(e.coord)
	return e
}
