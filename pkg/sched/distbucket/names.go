package distbucket

import "sort"

const (
	noLabel key = 0       // less than all labels
	maxKey      = ^key(0) // not less than any key
)

// labelStride is the distance between the labels (see assignLabel) of nodes that are added in
// ascending or descending order of their names. The first list of nodes that a controller gets is
// often in this order. A node that is added out of order gets the label in the middle between its
// neighbors by name.
const labelStride = 1 << 32

// assignLabel gives a new entry a label between the labels of its two neighbors by name. It
// returns false if no label is left between them.
//
// Labels are integers that have the same order as the names of the nodes. Pages of the B-trees
// store the labels of their items, so searches compare integers. To compare names, a search would
// have to read the entry and its name elsewhere in memory. A node keeps its label until relabel is
// called. For example:
//
//	name   a      b           c
//	label  m      m + 2³²     m + 2·2³²       added in order: one stride each
//	           ab                             added later: m + 2³¹, the middle
func (x *Index) assignLabel(e *entry) bool {
	before, after := x.byName.labelsAround(e.Name)
	gap := (after - before) / 2
	switch x.lastLabel {
	case noLabel:
		e.label = gap
	case before:
		e.label = before + min(gap, labelStride)
	case after:
		e.label = after - min(gap, labelStride)
	default:
		e.label = before + gap
	}
	x.lastLabel = e.label
	return gap > 0
}

// relabel spreads the labels of all nodes evenly:
//
//	label of the i-th node = i·⌊maxKey/(n+1)⌋
//
// It is called if no label is left between two neighbors. This is rare. If the gap between the
// labels of two neighbors is wide enough, a node that is inserted between them gets a label that
// is at least labelStride (2³²) away from both. Otherwise its label is in the middle of the gap. So
// only an insertion in the middle makes a gap smaller than labelStride. To use up a gap of
// labelStride takes at least 32 nodes, each of which is inserted next to the node that was inserted
// last. relabel takes O(n log n) time for n nodes.
func (x *Index) relabel() {
	all, step, at := x.byName, maxKey/key(x.Len()+1), noLabel
	x.trees = newTrees()
	x.log.relabelSeq = x.log.seq
	all.each(func(e *entry) bool {
		if x.log.full() {
			x.log.startChunk()
		}
		old := e.handle.newest.Load()
		next := x.space.newEntry(old.Node)
		at += step
		next.label, next.handle = at, e.handle
		x.log.addUpdate(update{e.handle, old, next})
		x.insert(next)
		return true
	})
	x.log.startChunk() // later views need none of the updates that are in x.log so far, because the new trees include them
}

// find returns the entry with the given name, or nil if there is none. The tree must be ordered by
// name. It takes O(log n) time for n entries.
func (t *tree) find(name string) *entry {
	page := t.root
	if page == nil {
		return nil
	}
	for page.children != nil {
		page = page.children.pages[max(0, page.firstAfterName(name)-1)]
	}
	if i := page.firstAfterName(name); i > 0 && page.items[i-1].Name == name {
		return page.items[i-1]
	}
	return nil
}

// labelsAround returns the labels of the two neighbors of a name. The result `before` is the label
// of the last name that is not after the given name, or noLabel if there is none. The result
// `after` is the label of the first name that is after the given name, or maxKey if there is none.
// The tree must be ordered by name. labelsAround takes O(log n) time for n entries.
func (t *tree) labelsAround(name string) (before, after key) {
	after = maxKey
	for page := t.root; page != nil; {
		i := page.firstAfterName(name)
		if i < page.n {
			after = page.separators[i].key
		}
		if i > 0 {
			before = page.separators[i-1].key
		}
		if page.children == nil {
			break
		}
		page = page.children.pages[max(i-1, 0)]
	}
	return before, after
}

// firstAfterName returns the index of the first item whose name is after the given name, or p.n if
// there is none.
func (p *page) firstAfterName(name string) int {
	return sort.Search(p.n, func(i int) bool { return p.items[i].Name > name })
}

// Cursor is the position directly behind a name in the order of all names. Searches can start
// behind a cursor (Query.After). A zero Cursor is before all names. A cursor of a node remains
// valid when the node changes or is removed, because the position depends only on the name.
//
// The cursor also has the label of the node, an integer that stands for the name, which saves a
// search for the name. The label is valid in a view of the same index under two conditions. First,
// the view must include the update that created the entry from which the cursor was made. Second, no
// node was removed, and relabel was not called, between this update and the view. (After a removal,
// another node can get the label of the removed node, and the index does not record which node was
// removed.) In the views of another index, the position of the cursor is undefined.
type Cursor struct {
	name  string
	label key    // the label of the node that the cursor was made of, or noLabel if there is none
	seq   uint64 // the sequence number of the update that made the node's entry
}

// Cursor returns the position after the name of n. A view must have returned the node n.
func (n *Node) Cursor() Cursor { return Cursor{n.Name, n.label, n.seq} }

// labelOf returns the label of the last node before the position of a cursor, or noLabel if no node
// is before this position. It takes O(1) time if the cursor's label is valid in the view (see
// Cursor). Otherwise it searches for the name, which takes O(log n) time for n nodes.
func (v *View) labelOf(c Cursor) key {
	if c.seq > v.relabelSeq && c.seq <= v.seq {
		return c.label
	}
	label, _ := v.byName.labelsAround(c.name)
	return label
}
