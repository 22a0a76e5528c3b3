package distbucket

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world has an Index (`x`) and a simple implementation of an index (`twin`). Both get the same
// random changes, so that their answers can be compared.
type world struct {
	t           *testing.T
	rand        *rand.Rand
	x           *Index
	twin        naive
	handles     map[string]*Handle // by name of the node: the Handle (a reference to the node in the index) that it had when it was last updated
	span        int64              // amounts are at most this large
	many        int                // number of different names of nodes
	removalOdds int                // a change of a node that is in the index is a removal with the probability 1/removalOdds
	cursors     []Cursor           // cursors of some nodes that searches have returned
}

func newWorld(t *testing.T, r *rand.Rand) *world {
	dims := 1 + r.IntN([]int{4, 10}[r.IntN(2)])
	c := Config{Order: r.Perm(dims)}
	for range dims {
		c.Theta = append(c.Theta, 1+r.Int64N(4))
	}
	index, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	span := []int64{1 + r.Int64N(20), 5000}[r.IntN(2)]
	return &world{t: t, rand: r, x: index, twin: naive{space: index.space, nodes: map[string]Node{}}, handles: map[string]*Handle{}, span: span, many: 1 + r.IntN(600), removalOdds: []int{3, 50}[r.IntN(2)]}
}

// change adds, updates or removes a random node. Now and then, it also calls relabel, which gives
// all nodes new labels (the integers that are compared instead of names).
func (w *world) change() {
	if w.rand.IntN(100) == 0 {
		w.x.relabel()
	}
	node := Node{Name: fmt.Sprintf("n%d", w.rand.IntN(w.many)), Free: w.vector()}
	_, have := w.twin.nodes[node.Name]
	var err error
	switch {
	case !have:
		err = w.add(node)
		w.twin.nodes[node.Name] = node
	case w.rand.IntN(w.removalOdds) > 0:
		err = w.update(node)
		w.twin.nodes[node.Name] = node
	default:
		handle := w.x.Handle(node.Name)
		err = w.x.Remove(node.Name)
		delete(w.twin.nodes, node.Name)
		if w.x.UpdateAt(handle, node) == nil {
			w.t.Fatalf("node %s was taken out, and updated by its handle", node.Name)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// add adds a node to the index, with either Add or AddAt.
func (w *world) add(node Node) error {
	if w.rand.IntN(2) == 0 {
		return w.x.Add(node)
	}
	for name := range w.twin.nodes {
		if w.x.AddAt(w.x.Handle(name), node) == nil {
			w.t.Fatalf("node %s was added to the handle of %s", node.Name, name)
		}
		break
	}
	return w.x.AddAt(new(Handle), node)
}

// update updates a node of the index, with either Update or UpdateAt. It also checks that the node
// keeps its handle while it is in the index.
func (w *world) update(node Node) error {
	handle := w.x.Handle(node.Name)
	if old := w.handles[node.Name]; old != nil && old != handle && old.Node() != nil {
		w.t.Fatalf("node %s has a new handle, but is in the old one, too", node.Name)
	}
	w.handles[node.Name] = handle
	if w.rand.IntN(2) == 0 {
		return w.x.Update(node)
	}
	return w.x.UpdateAt(handle, node)
}

func (w *world) vector() Vector {
	v := make(Vector, w.x.space.dims())
	for d := range v {
		v[d] = w.rand.Int64N(w.span+2) - 2
	}
	return v
}

func (w *world) query() Query {
	q := Query{Request: w.vector(), Policy: Policy(w.rand.IntN(4)), After: w.cursor(), Rand: w.rand}
	if w.rand.IntN(3) == 0 {
		q.Candidates = []string{}
		for range w.rand.IntN(20) {
			q.Candidates = append(q.Candidates, fmt.Sprintf("n%d", w.rand.IntN(w.many)))
		}
	}
	if w.rand.IntN(4) == 0 {
		q.Accept = func(n *Node) bool { return len(n.Name)%2 == 0 }
	}
	return q
}

// cursor returns the cursor of a node that an earlier search has returned, or the position behind a
// random name, which may not be in the index.
func (w *world) cursor() Cursor {
	if len(w.cursors) > 0 && w.rand.IntN(2) == 0 {
		return w.cursors[w.rand.IntN(len(w.cursors))]
	}
	return cursorAfter(fmt.Sprintf("n%d", w.rand.IntN(w.many)))
}

// remember stores the cursor of a node in w.cursors, for later queries.
func (w *world) remember(n *Node) {
	if len(w.cursors) < 16 {
		w.cursors = append(w.cursors, n.Cursor())
	} else {
		w.cursors[w.rand.IntN(len(w.cursors))] = n.Cursor()
	}
}

// compare sends the same random query to a view and to the simple implementation of an index
// (`twin`), and fails the test if their answers differ.
func (w *world) compare(view View, twin naive) {
	w.t.Helper()
	q := w.query()
	n := 1 + w.rand.IntN(10)
	want := twin.fitting(q)
	want = want[:min(n, len(want))]
	got := view.pick(q, n)
	if diff := cmp.Diff(want, names(got)); diff != "" {
		w.t.Fatalf("%s %v of %v after %q, %d nodes of %d (-want +got):\n%s", q.Policy, q.Request, q.Candidates, q.After.name, n, view.Len(), diff)
	}
	for _, n := range got {
		w.remember(n)
	}
	if q.Policy == LeastFit || q.Policy == BestFit {
		w.compareLeaves(view, twin, q)
	}
}

func (w *world) compareLeaves(view View, twin naive, query Query) {
	w.t.Helper()
	var got [][]int64
	var taken []string
	it := view.Leaves(query)
	for leaf := it.Next(); leaf != nil; leaf = it.Next() {
		got = append(got, leaf.X)
		if n := it.Take(leaf); n != nil {
			taken = append(taken, n.Name)
		}
	}
	if diff := cmp.Diff(twin.leaves(query), got); diff != "" {
		w.t.Fatalf("leaves of %s %v of %v (-want +got):\n%s", query.Policy, query.Request, query.Candidates, diff)
	}
	if first := names(view.pick(query, 1)); len(taken) == 0 && len(first) > 0 || len(taken) > 0 && taken[0] != first[0] {
		w.t.Fatalf("%s %v: leaf after leaf %v, picked %v", query.Policy, query.Request, taken, first)
	}
}

func names(nodes []*Node) []string {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}

// TestTwin makes the same random changes of an Index and of the simple implementation of an index
// (type naive), and compares their answers to queries. It compares them for the newest view and for
// an older view. It does so for indexes with different numbers of nodes and dimensions.
func TestTwin(t *testing.T) {
	for seed := range uint64(16) {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 7)))
		old, oldTwin := w.x.View(), w.twin.copy()
		for range 600 {
			w.change()
			if w.rand.IntN(8) == 0 {
				w.compare(w.x.View(), w.twin)
				w.compare(old, oldTwin)
			}
			if w.rand.IntN(200) == 0 {
				w.x.check(t)
				old, oldTwin = w.x.View(), w.twin.copy()
			}
		}
		w.drain()
	}
}

// drain removes all nodes from the index one by one, and checks the index meanwhile.
func (w *world) drain() {
	for name := range w.twin.copy().nodes {
		if err := w.x.Remove(name); err != nil {
			w.t.Fatal(err)
		}
		delete(w.twin.nodes, name)
		if w.rand.IntN(20) == 0 {
			w.compare(w.x.View(), w.twin)
			w.x.check(w.t)
		}
	}
	if w.x.Len() != 0 || w.x.byCoord.root != nil {
		w.t.Fatalf("%d nodes are left of none", w.x.Len())
	}
}

// node returns the node with the given name, or nil if there is none.
func (v View) node(name string) *Node {
	if e := v.find(name); e != nil {
		return &e.Node
	}
	return nil
}
