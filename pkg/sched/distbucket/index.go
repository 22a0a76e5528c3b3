package distbucket

import (
	"fmt"
	"iter"
	"sync/atomic"
)

// Index is an index of nodes by their free resources, with which a scheduler finds nodes for a task
// (see the package comment). One goroutine at a time may use it. Any number of goroutines may
// search the views (snapshots) that View returns. For n nodes, Add, Update and Remove take O(log n)
// time, except for an Add that has to give new labels (integers that stand for names) to all nodes
// (see the method `relabel`). View takes at most O(log n) time for each update since the last view,
// or O(1) if there was no update.
//
// An Index has two trees of nodes: one sorted by coordinate, and one sorted by name. A view has the
// roots of both trees, whose pages no longer change, and the delta: the newest updates, which are
// not yet in the tree by coordinate. When the delta is full, all its updates are put into this tree
// together. Schedulers often take the node with the most free resources. Such nodes are next to
// each other in this tree, so consecutive updates change mostly the same pages. If several updates
// are put into the tree together, each page is copied only once, so there is less garbage (memory
// that the garbage collector has to free). This was measured for decisions, each of which takes one
// view and makes two updates: one pod is placed, and another one ends. With 100,000 nodes, a
// decision left 12.3 KB of garbage without a delta, and 2.3 KB with it. (The figures are from
// BenchmarkDecide with dims=4, fill=0.5, theta=coarse and the policy LeastFit.)
//
// The tree by name changes only when nodes are added or removed, or get new labels (see `relabel`).
// Its entries refer to the handles of nodes, and each handle refers to the newest state of its
// node. An alternative was measured: to put each update into this tree, too. With that design, the
// policies FirstFit and NextFit, which read the tree by name, were faster. But a decision with
// another policy took 0.6 µs longer with 1,000 nodes, and 1.0 µs longer with 100,000 nodes.
//
// Two simpler designs were measured and rejected. They also let goroutines search while the writer
// changes the index:
//
//   - Trees that are changed in place under a sync.RWMutex. An update itself is cheaper. But
//     readers hold the lock while filters check the nodes that were found, and the writer waits
//     meanwhile. So an update takes 35 to 73 µs instead of 9 µs (BenchmarkShared, with 1 to 16
//     goroutines that search).
//   - A copy of the trees for each reader. It multiplies the writer's work by the number of readers.
type Index struct {
	space   space
	handles map[string]*Handle // by node name
	trees
	log       log
	lastLabel key // the label that was assigned last
}

// New returns an empty index, or an error if the configuration is invalid.
func New(config Config) (*Index, error) {
	s, err := newSpace(config)
	if err != nil {
		return nil, err
	}
	return &Index{space: s, handles: map[string]*Handle{}, trees: newTrees(), log: log{chunk: new(chunk)}}, nil
}

// Add adds a node. It returns an error if a node with this name is in the index, or if Free does
// not have one amount for each dimension.
func (x *Index) Add(node Node) error { return x.AddAt(new(Handle), node) }

// AddAt adds a node as Add does, but uses the given handle as the handle of the node. The handle
// must be zero, or the handle of a node that was removed from this index. A caller that keeps a
// struct for each node can embed the handle in this struct, which saves an allocation and a cache
// miss.
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

// Update replaces the node that has the name node.Name. It returns an error if the index has no
// node of that name, or if Free does not have one amount for each dimension.
func (x *Index) Update(node Node) error {
	handle := x.handles[node.Name]
	if handle == nil {
		return fmt.Errorf("update node %q: it is not in the index", node.Name)
	}
	return x.UpdateAt(handle, node)
}

// UpdateAt replaces the node of a handle. The new node must have the same name as the old one.
// UpdateAt is faster than Update, because it does not search for the name.
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

// Remove removes the node with the given name. It returns an error if the index has no such node.
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

// Handle returns the handle of the node with the given name, or nil if the index has no such node.
func (x *Index) Handle(name string) *Handle { return x.handles[name] }

// View returns an immutable snapshot of the index. As long as a view is referenced, the garbage
// collector cannot free the updates that were made after it. The view has to read them to find the
// old state of a node that has changed. So keep a view only for one search.
func (x *Index) View() View {
	x.freeze()
	return View{space: &x.space, trees: x.trees, delta: x.log.delta(), logPosition: x.log.position()}
}

// insert puts a new entry, or an entry with a new label, into both trees.
func (x *Index) insert(e *entry) {
	x.byCoord.put(e)
	x.byName.put(&entry{Node: Node{Name: e.Name, label: e.label}, handle: e.handle})
}

// flushDelta puts the updates that the tree by coordinate lacks (the delta) into this tree.
func (x *Index) flushDelta() {
	if last := x.log.delta(); len(last) > 0 {
		x.byCoord.apply(last)
		x.log.startChunk()
	}
}

// trees has the nodes of an index in two orders: by coordinate and by name.
type trees struct {
	byCoord tree // the nodes' entries, by coordinate and then by name
	byName  tree // entries with only the name of a node, its label and its handle
}

// newTrees returns empty trees.
func newTrees() trees {
	return trees{
		byCoord: tree{owner: new(owner), keyOf: coordKeyOf, order: compareCoord, ordersByLabel: true, hasMaxima: true},
		byName:  tree{owner: new(owner), keyOf: labelKeyOf, order: compareLabel},
	}
}

// freeze makes the pages of both trees immutable, so that a view can share them.
func (t *trees) freeze() {
	t.byCoord.freeze()
	t.byName.freeze()
}

// Handle identifies a node while the node is in an index. With a handle, the index need not search
// its map for the node's name. This search takes three times as long with 100,000 nodes as with
// 1,000 nodes, because a map of 100,000 nodes is not in the processor's cache. A zero Handle
// belongs to no node. Only the goroutine that writes the index may call the methods of Handle.
type Handle struct {
	newest atomic.Pointer[entry] // the newest entry of the node, nil if the node was removed; readers of views load it
	index  *Index                // the index to which the handle belongs; set on first use, and never changed
}

// Node returns the newest state of the handle's node, or nil if the node was removed.
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
	delta delta // the newest updates, which the tree in the field `byCoord` does not have yet
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

// find returns the entry of the node with the given name, or nil if the view has no such node.
func (v *View) find(name string) *entry {
	e := v.byName.find(name)
	if e == nil {
		return nil
	}
	return v.entry(e.handle)
}

// The method `each` yields the entries of all nodes in the view, in the order of their names.
func (v *View) each(yield func(*entry) bool) {
	v.byName.each(func(e *entry) bool { return yield(v.entry(e.handle)) })
}
