package distbucket

import (
	"sort"
)

// Labels stand for the names of an index's nodes: they are keys in the order of names. Who looks for the place of a node compares labels, which
// blocks have at hand, and not names, each of which is two reads elsewhere in memory. A node keeps its label while it is in the index, unless all get new ones.

const (
	noLabel key = 0       // no node's label
	maxKey      = ^key(0) // none is greater
)

// stride is how far a new label is from that of the node added last, if that is a neighbour and there is room: nodes that come in the order of
// their names, upwards or downwards, take a stride each. Others come in the middle between their neighbours.
const labelStride = 1 << 32

// label gives an entry that is new a label between those of its neighbours, or says that none is left.
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

// relabel gives all nodes labels that are as far from each other as can be. O(n log n), after 30 nodes at least, each
// of which came between the last two.
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
	x.log.startChunk() // trees that are new know everything
}

// around returns the labels of the entries before and behind a name, of which the first may have the name itself, in a tree by name: none, or the
// greatest key, where there is none.
func (t *tree) labelsAround(name string) (before, after key) {
	after = maxKey
	for p := t.root; p != nil; {
		i := p.firstAfterName(name)
		if i < p.n {
			after = p.separators[i].key
		}
		if i > 0 {
			before = p.separators[i-1].key
		}
		if p.children == nil {
			break
		}
		p = p.children.pages[max(i-1, 0)]
	}
	return before, after
}

// behind returns the first item with a greater name, or n, in a block of a tree by name.
func (p *page) firstAfterName(name string) int {
	return sort.Search(p.n, func(i int) bool { return p.items[i].Name > name })
}

// find returns the entry of that name from a tree by name, or nil.
func (t *tree) find(name string) *entry {
	p := t.root
	if p == nil {
		return nil
	}
	for p.children != nil {
		p = p.children.pages[max(0, p.firstAfterName(name)-1)]
	}
	if i := p.firstAfterName(name); i > 0 && p.items[i-1].Name == name {
		return p.items[i-1]
	}
	return nil
}

// Cursor is a place in the order of names: behind one. The zero value is before all. A cursor made of a node is for views of the node's own index, before and
// after: in others it is anywhere.
type Cursor struct {
	name  string
	label key    // of that name, or none
	seq   uint64 // of the update that the node had then
}

// Cursor returns the place behind the name of a node that an index returned. A query that goes on from there need not look for the name.
func (n *Node) Cursor() Cursor { return Cursor{n.Name, n.label, n.seq} }

// labelOf returns the greatest label in the view of a name that the cursor is not before, or none. O(1) if the cursor is of a node that the view,
// or one before it, has, and no node was taken out or got another label since.
func (v *View) labelOf(c Cursor) key {
	if c.seq > v.relabelSeq && c.seq <= v.seq {
		return c.label
	}
	label, _ := v.byName.labelsAround(c.name)
	return label
}
