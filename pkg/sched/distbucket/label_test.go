package distbucket

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLabels adds nodes in orders that use labels up, or do not.
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
			x, err := New(Config{Theta: Vector{1}})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range count {
				n := Node{Name: tc.name(i), Free: Vector{int64(i % 3)}}
				want = append(want, n.Name)
				if err := x.Add(n); err != nil {
					t.Fatal(err)
				}
			}
			x.check(t)
			relabeled := x.byName.at(1).label-x.byName.at(0).label != stride
			slices.Sort(want)
			var got []string
			for n := range x.View().Nodes() {
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
