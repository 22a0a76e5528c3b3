package distbucket

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLabels checks that a view yields nodes in the order of their names, whatever the order in
// which they were added. A node has a label, an integer: labels have the same order as names, and a
// new node gets a label between those of its neighbors. For two of the tested orders, two
// neighbors at some time have consecutive integers as labels, so relabel must give new labels to
// all nodes.
func TestLabels(t *testing.T) {
	const count = 300
	cases := map[string]struct {
		name      func(i int) string
		relabeled bool
	}{
		"upwards":              {func(i int) string { return fmt.Sprintf("n%03d", i) }, false},
		"downwards":            {func(i int) string { return fmt.Sprintf("n%03d", count-i) }, false},
		"from both ends":       {func(i int) string { return fmt.Sprintf("n%03d", i%2*(count-i)+(1-i%2)*i) }, true},
		"between the last two": {func(i int) string { return strings.Repeat("2", i/2) + fmt.Sprint(1+i%2*2) }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			index, err := New(Config{Theta: Vector{1}})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range count {
				node := Node{Name: tc.name(i), Free: Vector{int64(i % 3)}}
				want = append(want, node.Name)
				if err := index.Add(node); err != nil {
					t.Fatal(err)
				}
			}
			index.check(t)
			relabeled := index.byName.atRank(1).label-index.byName.atRank(0).label != labelStride
			slices.Sort(want)
			var got []string
			for n := range index.View().Nodes() {
				got = append(got, n.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("nodes by name (-want +got):\n%s", diff)
			}
			if relabeled != tc.relabeled {
				t.Errorf("labels were given anew: %t, want %t", relabeled, tc.relabeled)
			}
		})
	}
}

// TestCursorSavesSearch checks which part of a cursor a search uses. A cursor has the name of a
// node, and the integer label that the node had when the cursor was made. The search must use the
// label, except in two cases. It must use the name if the view is older than the cursor, or if all
// nodes have got new labels since the cursor was made (relabel). To tell which of the two was used,
// the test gives the cursor a wrong name.
func TestCursorSavesSearch(t *testing.T) {
	index := indexOf(t, Vector{1}, []Node{{Name: "n1", Free: Vector{1}}, {Name: "n5", Free: Vector{1}}, {Name: "n9", Free: Vector{1}}})
	before := index.View()
	if err := index.Update(Node{Name: "n5", Free: Vector{2}}); err != nil {
		t.Fatal(err)
	}
	m := index.View().node("n5").Cursor()
	m.name = "n0"
	next := func(view View) string {
		return names(view.pick(Query{Request: Vector{1}, Policy: NextFit, After: m}, 1))[0]
	}
	got := []string{next(before), next(index.View())}
	index.relabel()
	got = append(got, next(index.View()))
	if diff := cmp.Diff([]string{"n1", "n9", "n1"}, got); diff != "" {
		t.Errorf("behind n5, else behind n0, in a view from before the cursor, in its own and after new labels (-want +got):\n%s", diff)
	}
}

// TestCursorOfHeldNode checks that a search with the cursor of the node n5 begins behind n5. The
// node has a reservation. The test updates n5 with a Node that was read from another index. This
// Node has the label (an integer that stands for the name) of n5 in the other index. The cursor
// must not use this label.
func TestCursorOfHeldNode(t *testing.T) {
	other := indexOf(t, Vector{1}, cluster(50, 1, 0.5))
	if err := other.Add(Node{Name: "n5", Free: Vector{1}}); err != nil {
		t.Fatal(err)
	}
	x, err := NewReserving(Config{Theta: Vector{1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"} {
		if err := x.Add(Node{Name: name, Free: Vector{1}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Reserve("n5", "t", Vector{1}); err != nil {
		t.Fatal(err)
	}
	if err := x.Update(*other.View().node("n5")); err != nil {
		t.Fatal(err)
	}
	cursors := []Cursor{x.View().node("n5", "t").Cursor(), x.View().held("t")[0].Cursor()}
	x.unreserved.relabel()
	for range 100 {
		if err := x.Update(Node{Name: "n0", Free: Vector{1}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range cursors {
		if diff := cmp.Diff([]string{"n6"}, names(x.View().pick(Query{Request: Vector{1}, Policy: NextFit, After: m}, 1))); diff != "" {
			t.Errorf("behind n5 (-want +got):\n%s", diff)
		}
	}
}

// TestCursorOfRemovedNode checks that a search can begin behind the cursor of a node that was
// removed, even if a node that was added later has the label of the removed node.
func TestCursorOfRemovedNode(t *testing.T) {
	for next, want := range map[string][]string{"n3": {"n9", "n1", "n3"}, "n7": {"n7", "n9", "n1"}} {
		index := indexOf(t, Vector{1}, []Node{{Name: "n1", Free: Vector{1}}, {Name: "n5", Free: Vector{1}}, {Name: "n9", Free: Vector{1}}})
		gone := index.View().node("n5").Cursor()
		if err := index.Remove("n5"); err != nil {
			t.Fatal(err)
		}
		if err := index.Add(Node{Name: next, Free: Vector{1}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, names(index.View().pick(Query{Request: Vector{1}, Policy: NextFit, After: gone}, 3))); diff != "" {
			t.Errorf("behind n5, with %s in its place (-want +got):\n%s", next, diff)
		}
	}
}

// cursorAfter returns the position behind a name. The index need not have a node with this name.
func cursorAfter(name string) Cursor { return Cursor{name: name} }
