package distbucket

import (
	"fmt"
	"iter"
	"sync/atomic"
)

// Index is the writer's end of DistBuckets. One goroutine may use it at a time; views of it may be used by all.
//
// A view is two roots and a few updates that the tree by coordinate does not know. When the 16th comes, all go into that tree: each copies
// the blocks between the root and its places that a view can reach, and changes the copies. So proposers read without locks while the one
// committer writes, and a proposer sees one state from the first question to the last. Updates are gathered because they come close together
// (who takes the node with the most free does so again and again), and then have most of their blocks in common: at commit 65ec719, with a view
// after each update and nothing gathered a decision, which is two updates, left 12.3 KB of garbage at 100,000 nodes, this way 2.2 KB
// (BenchmarkDecide, 4 dimensions, half full, coarse, LeastFit), and a look at 16 entries more for a question is less than what that garbage costs.
//
// The tree by name changes only as nodes come and go: it leads to a node's handle, where its newest entry is, and who asks a view finds what came
// later in the log. When each update went into that tree, too, that took 0.6 µs of a decision among 1,000 nodes and 1.0 among 100,000, most of it for
// copies of blocks (kubefilter's BenchmarkDecide, half full, commit ffb070f), and nothing but FirstFit and NextFit was the quicker for it.
//
// There was a third tree, by place on a Z-order curve, for requests that few nodes cover: blocks then had a maximum instead of peaks, and a walk
// by coordinate did not see where it was in vain. With peaks the walk takes fewer looks than either tree did.
//
// The simpler way was measured and rejected: the same trees, changed in place under a sync.RWMutex. A change is then cheaper by itself and
// decisions per second are the same on two cores, but the lock is held while filters judge what is picked, and the committer, of whom there is
// only one, waits for them: 35 to 73 µs per change against 9 µs with views (BenchmarkShared, 1 to 16 proposers, 4 nodes each;
// commit 23b33c0). A copy of the trees per proposer needs no waiting but multiplies the committer's work by their number.
type Index struct {
	space   space
	handles map[string]*Handle // of the nodes
	trees
	log       log // what the tree by coordinate does not know, and readers have to
	lastLabel key // the label that was given last
}

// New returns an empty index, or says what is wrong with the configuration.
func New(c Config) (*Index, error) {
	s, err := newSpace(c)
	if err != nil {
		return nil, err
	}
	return &Index{space: s, handles: map[string]*Handle{}, trees: newTrees(), log: log{chunk: new(chunk)}}, nil
}

// Add takes a node into the index. It is an error if one of that name is there.
func (x *Index) Add(n Node) error { return x.AddAt(new(Handle), n) }

// AddAt is Add to a handle in the caller's memory, which has to be free, and always this index's: for who has something of the node's at hand.
func (x *Index) AddAt(h *Handle, n Node) error {
	e, err := x.space.checkedEntry(n)
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	if x.handles[n.Name] != nil {
		return fmt.Errorf("add node %q: it is in the index", n.Name)
	}
	if old := h.Node(); old != nil {
		return fmt.Errorf("add node %q: its handle is that of node %q", n.Name, old.Name)
	}
	if h.index != nil && h.index != x {
		return fmt.Errorf("add node %q: its handle is of another index", n.Name)
	}
	if !x.assignLabel(e) {
		x.relabel()
		x.assignLabel(e)
	}
	h.index, e.handle = x, h
	x.handles[n.Name] = h
	x.log.addNode(e)
	x.insert(e)
	return nil
}

// Update replaces the node of that name. It is an error if there is none.
func (x *Index) Update(n Node) error {
	handle := x.handles[n.Name]
	if handle == nil {
		return fmt.Errorf("update node %q: it is not in the index", n.Name)
	}
	return x.UpdateAt(handle, n)
}

// UpdateAt is Update of the node in a handle, whose name it keeps.
func (x *Index) UpdateAt(h *Handle, n Node) error {
	old := h.newest.Load()
	if old == nil || h.index != x || old.Name != n.Name {
		return fmt.Errorf("update node %q: the handle is not its own", n.Name)
	}
	e, err := x.space.checkedEntry(n)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	e.label, e.handle = old.label, h
	if x.log.addUpdate(update{h, old, e}); x.log.full() {
		x.flushDelta()
	}
	return nil
}

// Remove takes the node of that name out. It is an error if there is none.
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

// View returns the index as it is now. Later changes do not show in it, but who keeps it keeps all of them in memory, and a question to it that goes by
// names takes longer with each. O(1), and O(log n) for each change since the last view.
func (x *Index) View() View {
	x.freeze()
	return View{space: &x.space, trees: x.trees, delta: x.log.delta(), logPosition: x.log.position()}
}

// enter lets the trees know a node that is new or has a new label.
func (x *Index) insert(e *entry) {
	x.byCoord.put(e)
	x.byName.put(&entry{Node: Node{Name: e.Name, label: e.label}, handle: e.handle})
}

// settle lets the tree by coordinate know everything.
func (x *Index) flushDelta() {
	if last := x.log.delta(); len(last) > 0 {
		x.byCoord.apply(last)
		x.log.startChunk()
	}
}

// trees are the nodes in the orders in which one looks for them.
type trees struct {
	byCoord tree // by coordinate, then name: a bucket is a range of it
	byName  tree // of entries that have nothing but a name, its label and the handle, where the node's own entry is
}

func newTrees() trees {
	return trees{
		byCoord: tree{owner: new(owner), keyOf: coordKeyOf, order: compareCoord, ordersByLabel: true, hasMaxima: true},
		byName:  tree{owner: new(owner), keyOf: labelKeyOf, order: compareLabel},
	}
}

// seal makes the trees what a view may keep.
func (t *trees) freeze() {
	t.byCoord.freeze()
	t.byName.freeze()
}

// Handle is a node's place in an index, for as long as the node is in it. Who keeps it updates the node without a search for its name, which
// among 100,000 costs three times what it costs among 1,000: a map that large is nowhere near the processor. The zero value is a free one.
type Handle struct {
	newest atomic.Pointer[entry] // nil where the node was taken out
	index  *Index                // once it was taken; for good
}

// Node returns the node as the index has it, or nil where the node was taken out. It is for the writer.
func (h *Handle) Node() *Node {
	if e := h.newest.Load(); e != nil {
		return &e.Node
	}
	return nil
}

// View is an index as it was at one moment. It never changes: any number of goroutines may ask it at once.
type View struct {
	space *space
	trees
	delta delta // what the tree by coordinate did not know at the moment
	logPosition
}

// Len returns the number of nodes.
func (v View) Len() int { return v.byName.size() }

// Nodes yields all nodes in order of their names.
func (v View) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		v.each(func(e *entry) bool { return yield(&e.Node) })
	}
}

// find returns the entry of that name, or nil.
func (v *View) find(name string) *entry {
	e := v.byName.find(name)
	if e == nil {
		return nil
	}
	return v.entry(e.handle)
}

// each yields all entries in order of their names.
func (v *View) each(yield func(*entry) bool) {
	v.byName.each(func(e *entry) bool { return yield(v.entry(e.handle)) })
}
