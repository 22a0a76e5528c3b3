package distbucket

import (
	"fmt"
	"iter"
	"sync/atomic"
)

// Index is the writer's end of DistBuckets. One goroutine may use it at a time; any number of goroutines
// may search its views. Add, Update and Remove are O(log n), View is O(1) plus O(log n) for each update
// since the last view.
//
// A view is the roots of two frozen trees and the delta. When the delta is full, its updates go into the
// tree by coordinate together. Schedulers often take the node with the most free resources, so
// consecutive updates share most of the pages to copy: with one view per update, a decision of two
// updates left 12.3 KB of garbage at 100,000 nodes without a delta, and 2.2 KB with it
// (BenchmarkDecide, 4 dimensions, half full, coarse, LeastFit).
//
// The tree by name changes only when nodes are added or removed: it leads to handles, and the log
// has the updates. With each update also in this tree, a decision took 0.6 µs more at 1,000 nodes
// and 1.0 µs more at 100,000, and only FirstFit and NextFit were faster.
//
// Two simpler ways were measured and rejected:
//
//   - Trees changed in place under a sync.RWMutex. A single update is cheaper. But readers hold the
//     lock while filters check the nodes that were found, and the one writer waits: an update takes
//     35 to 73 µs instead of 9 µs (BenchmarkShared, 1 to 16 proposers).
//   - A copy of the trees for each reader. It multiplies the writer's work by the number of readers.
type Index struct {
	space   space
	handles map[string]*Handle // by node name
	trees
	log       log
	lastLabel key // assigned last
}

// New returns an empty index, or an error if the configuration is invalid.
func New(config Config) (*Index, error) {
	s, err := newSpace(config)
	if err != nil {
		return nil, err
	}
	return &Index{space: s, handles: map[string]*Handle{}, trees: newTrees(), log: log{chunk: new(chunk)}}, nil
}

// Add adds a node. It returns an error if the name is in the index or amounts are missing.
func (x *Index) Add(node Node) error { return x.AddAt(new(Handle), node) }

// AddAt adds a node and sets a handle, in the caller's memory, to it. The handle must be zero or the handle of a
// node that was removed from this index. Callers that keep a record per node save an allocation and a
// cache miss by embedding the handle.
func (x *Index) AddAt(handle *Handle, node Node) error {
	e, err := x.space.checkedEntry(node)
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	if x.handles[node.Name] != nil {
		return fmt.Errorf("add node %q: it is in the index", node.Name)
	}
	if old := handle.Node(); old != nil {
		return fmt.Errorf("add node %q: the handle belongs to node %q", node.Name, old.Name)
	}
	if handle.index != nil && handle.index != x {
		return fmt.Errorf("add node %q: the handle belongs to another index", node.Name)
	}
	if !x.assignLabel(e) {
		x.relabel()
		x.assignLabel(e)
	}
	handle.index, e.handle = x, handle
	x.handles[node.Name] = handle
	x.log.addNode(e)
	x.insert(e)
	return nil
}

// Update replaces the node of that name. It returns an error if there is none.
func (x *Index) Update(node Node) error {
	handle := x.handles[node.Name]
	if handle == nil {
		return fmt.Errorf("update node %q: it is not in the index", node.Name)
	}
	return x.UpdateAt(handle, node)
}

// UpdateAt replaces the node of a handle. The name must stay the same. Unlike Update it does not look
// the name up.
func (x *Index) UpdateAt(handle *Handle, node Node) error {
	old := handle.newest.Load()
	if old == nil || handle.index != x || old.Name != node.Name {
		return fmt.Errorf("update node %q: the handle does not belong to it", node.Name)
	}
	e, err := x.space.checkedEntry(node)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	e.label, e.handle = old.label, handle
	if x.log.addUpdate(update{handle, old, e}); x.log.full() {
		x.flushDelta()
	}
	return nil
}

// Remove removes the node of that name. It returns an error if there is none.
func (x *Index) Remove(name string) error {
	handle := x.handles[name]
	if handle == nil {
		return fmt.Errorf("remove node %q: it is not in the index", name)
	}
	x.flushDelta()
	old := handle.newest.Load()
	x.byCoord.remove(old)
	x.byName.remove(old)
	x.log.addUpdate(update{handle, old, nil})
	x.log.startChunk()
	x.log.relabelSeq = x.log.seq
	delete(x.handles, name)
	return nil
}

// Len returns the number of nodes.
func (x *Index) Len() int { return len(x.handles) }

// Handle returns the handle of the node of that name, or nil.
func (x *Index) Handle(name string) *Handle { return x.handles[name] }

// View returns an immutable snapshot. As long as a view is referenced, all later updates stay in
// memory, and its searches by name follow them. So keep a view only for one search.
func (x *Index) View() View {
	x.freeze()
	return View{space: &x.space, trees: x.trees, delta: x.log.delta(), logPosition: x.log.position()}
}

// insert puts an entry that is new, or has a new label, into both trees.
func (x *Index) insert(e *entry) {
	x.byCoord.put(e)
	x.byName.put(&entry{Node: Node{Name: e.Name, label: e.label}, handle: e.handle})
}

// flushDelta puts the delta into the tree by coordinate.
func (x *Index) flushDelta() {
	if last := x.log.delta(); len(last) > 0 {
		x.byCoord.apply(last)
		x.log.startChunk()
	}
}

// trees are the nodes in the two orders in which they are searched.
type trees struct {
	byCoord tree // the nodes' entries, by coordinate and then by name
	byName  tree // entries with only a name, its label and the handle
}

// newTrees returns empty trees.
func newTrees() trees {
	return trees{
		byCoord: tree{owner: new(owner), keyOf: coordKeyOf, order: compareCoord, ordersByLabel: true, hasMaxima: true},
		byName:  tree{owner: new(owner), keyOf: labelKeyOf, order: compareLabel},
	}
}

// freeze makes both trees ready to be copied into a view.
func (t *trees) freeze() {
	t.byCoord.freeze()
	t.byName.freeze()
}

// Handle identifies a node in an index while the node is in it. It saves the search for the name,
// which takes three times as long among 100,000 nodes as among 1,000: a map of that size is not in
// the cache. The zero value is free. Its methods are for the writer.
type Handle struct {
	newest atomic.Pointer[entry] // nil if the node was removed; readers of views load it
	index  *Index                // set on first use, and never changed
}

// Node returns the newest state of the node, or nil if the node was removed.
func (h *Handle) Node() *Node {
	if e := h.newest.Load(); e != nil {
		return &e.Node
	}
	return nil
}

// View is an immutable snapshot of an index. Any number of goroutines may search it.
type View struct {
	space *space
	trees
	delta delta // updates that are not yet in the tree by coordinate
	logPosition
}

// Len returns the number of nodes.
func (v View) Len() int { return v.byName.size() }

// Nodes yields all nodes in the order of their names.
func (v View) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		v.each(func(e *entry) bool { return yield(&e.Node) })
	}
}

// find returns the entry of the node of that name, or nil.
func (v *View) find(name string) *entry {
	e := v.byName.find(name)
	if e == nil {
		return nil
	}
	return v.entry(e.handle)
}

// each yields all entries in the order of their names.
func (v *View) each(yield func(*entry) bool) {
	v.byName.each(func(e *entry) bool { return yield(v.entry(e.handle)) })
}
