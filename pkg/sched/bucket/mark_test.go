package bucket

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarkOfNodeTakenOut goes on behind a node in whose place there is another now, which may have got its label.
func TestMarkOfNodeTakenOut(t *testing.T) {
	for next, want := range map[string][]string{"n3": {"n9", "n1", "n3"}, "n7": {"n7", "n9", "n1"}} {
		x, err := New(Config{Theta: Vector{1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"n1", "n5", "n9"} {
			if err := x.Add(Node{Name: name, Free: Vector{1}}); err != nil {
				t.Fatal(err)
			}
		}
		gone := x.View().Node("n5").Mark()
		if err := x.Remove("n5"); err != nil {
			t.Fatal(err)
		}
		if err := x.Add(Node{Name: next, Free: Vector{1}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, names(x.View().Pick(Query{Request: Vector{1}, Policy: NextFit, After: gone}, 3))); diff != "" {
			t.Errorf("behind n5, with %s in its place (-want +got):\n%s", next, diff)
		}
	}
}
