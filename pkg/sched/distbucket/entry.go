package distbucket

import "fmt"

// Node is an element of the index. The index copies Free, but not Record. Readers get Record without
// a lock, so the data that Record points to must be safe for concurrent use.
type Node struct {
	Name   string
	Free   Vector
	Record any // stored for the caller; the index does not use it

	// Set by the index.
	label key    // integer that is compared instead of the name: labels have the same order as names
	seq   uint64 // number of the update that created this entry
}

// entry is the state of a node after one update, with all values that searches compare. An entry
// that a view can reach never changes: the next update of the node makes a new entry.
type entry struct {
	Node
	coord    []int64
	coordKey key
	exactKey bool // coordKey is exact: no other coordinate has the same coordKey (see packCoord)
	code     code // Free in a short form for fast comparisons, in which amounts are rounded down
	handle   *Handle
	// The reservation of the node, or nil. Only a Reserving, which is an index with reservations,
	// sets it, and only in the entries of its two trees of reserved nodes.
	*reservation
}

// entryWithVectors is an entry together with memory for its two vectors Free and coord. The memory
// is sufficient for up to six dimensions. Searches read both vectors. If the vectors were allocated
// separately, each would cause a cache miss.
type entryWithVectors struct {
	entry
	vectors [12]int64
}

// reservation is the task for which resources of a node are reserved, and the reserved amounts.
type reservation struct {
	task    string
	amounts Vector
}

// checkedEntry returns a new entry for a node, or an error if the node has the wrong number of
// amounts.
func (s space) checkedEntry(node Node) (*entry, error) {
	if err := s.check(node.Free); err != nil {
		return nil, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return s.newEntry(node), nil
}

// newEntry returns a new entry for a node, which must have an amount for each dimension. The caller
// sets the fields `label` and `handle` of the new entry.
func (s space) newEntry(node Node) *entry {
	whole := &entryWithVectors{entry: entry{Node: Node{Name: node.Name, Record: node.Record}, code: encode(node.Free)}}
	e, buf := &whole.entry, whole.vectors[:0]
	buf = append(append(buf, node.Free...), node.Free...)
	e.Free, e.coord = buf[:len(node.Free):len(node.Free)], buf[len(node.Free):]
	s.coordinateInto(e.coord, node.Free)
	e.coordKey, _, e.exactKey = packCoord(e.coord)
	return e
}
