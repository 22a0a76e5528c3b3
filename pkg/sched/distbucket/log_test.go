package distbucket

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestViewOfBusyNode checks that a view does not change while its node is updated all the
// time: if the node is looked up twice in the same view, both look-ups must return the same
// entry.
func TestViewOfBusyNode(t *testing.T) {
	index := indexOf(t, Vector{1}, []Node{{Name: "a", Free: Vector{0}}})
	var newest atomic.Pointer[View]
	publish := func() { v := index.View(); newest.Store(&v) }
	publish()
	var readers sync.WaitGroup
	var done atomic.Bool
	for range 3 {
		readers.Go(func() {
			for !done.Load() {
				v := newest.Load()
				if one, two := v.node("a"), v.node("a"); one != two {
					t.Errorf("one view has %v and %v", one.Free, two.Free)
					return
				}
			}
		})
	}
	for i := range int64(100_000) {
		if err := index.Update(Node{Name: "a", Free: Vector{i}}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			publish()
		}
	}
	done.Store(true)
	readers.Wait()
}

// TestHandleReuse checks that the handle of a removed node can be used for another node, even
// while older views still have the removed node. Each view must keep the nodes that it had
// when it was made.
func TestHandleReuse(t *testing.T) {
	x, other := indexOf(t, Vector{1}, []Node{{Name: "c", Free: Vector{7}}}), indexOf(t, Vector{1}, []Node{{Name: "a", Free: Vector{7}}})
	handle := new(Handle)
	var views []View
	var want []string
	must := func(err error, now string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		views, want = append(views, x.View()), append(want, now)
		var got []string
		for _, v := range views {
			has := ""
			for n := range v.Nodes() {
				has += fmt.Sprint(n.Name, n.Free)
			}
			got = append(got, has)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what views have, after so many changes (-want +got):\n%s", diff)
		}
	}
	must(x.AddAt(handle, Node{Name: "a", Free: Vector{1}}), "a[1]c[7]")
	must(x.UpdateAt(handle, Node{Name: "a", Free: Vector{2}}), "a[2]c[7]")
	must(x.Remove("a"), "c[7]")
	must(x.AddAt(handle, Node{Name: "b", Free: Vector{3}}), "b[3]c[7]")
	must(x.UpdateAt(handle, Node{Name: "b", Free: Vector{4}}), "b[4]c[7]")
	if other.UpdateAt(x.Handle("c"), Node{Name: "c", Free: Vector{1}}) == nil {
		t.Error("an index updates a node by the handle of another index")
	}
	must(x.Remove("b"), "c[7]")
	if other.AddAt(handle, Node{Name: "b", Free: Vector{1}}) == nil {
		t.Error("an index takes a handle of another one")
	}
}
