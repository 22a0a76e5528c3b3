package distbucket

import "sort"

const (
	noLabel key = 0       // less than all labels
	maxKey      = ^key(0) // not less than any key
)

// labelStride is the distance between the labels of nodes that are added in order of their names, up or
// down, as a controller's initial list has them. Other nodes get the middle between their neighbours.
const labelStride = 1 << 32

// assignLabel gives a new entry a label between those of its neighbours by name. It returns false
// if no label is left between them.
//
// A label is an integer in place of a name: labels order the nodes of an index as their names do.
// Pages store labels, so searches compare integers. A comparison of names would need two reads
// elsewhere in memory. A node keeps its label until relabel.
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
// O(n log n). It is needed after 30 or more nodes that were each added between the last two.
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
	x.log.startChunk() // new trees include all updates
}

// find returns the entry of that name, or nil. The tree must be ordered by name. O(log n).
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

// labelsAround returns the label of the last name up to this one, or noLabel, and that of the first name
// after it, or maxKey. The tree must be ordered by name. O(log n).
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

// firstAfterName returns the first item with a greater name, or p.n.
func (p *page) firstAfterName(name string) int {
	return sort.Search(p.n, func(i int) bool { return p.items[i].Name > name })
}

// Cursor is a position in the order of names, after one name. The zero value is before all names. A
// cursor remains valid when its node changes or is removed, because it is a position after the name
// and not after the node.
//
// The label saves the search for the name. The label is valid in every view of the cursor's index
// that has seen the node's update and no removal or relabel since. In the views of any other index,
// the position of the cursor is undefined.
type Cursor struct {
	name  string
	label key    // of the name, or noLabel
	seq   uint64 // of the node's update
}

// Cursor returns the position after the name of a node that a view returned.
func (n *Node) Cursor() Cursor { return Cursor{n.Name, n.label, n.seq} }

// labelOf returns the greatest label up to a cursor, or noLabel. O(1) if the view is of the cursor's
// version or later and no label has changed its name since, and else O(log n).
func (v *View) labelOf(c Cursor) key {
	if c.seq > v.relabelSeq && c.seq <= v.seq {
		return c.label
	}
	label, _ := v.byName.labelsAround(c.name)
	return label
}
