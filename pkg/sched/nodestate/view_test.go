package nodestate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestViewAfterPanic checks which nodes are in the views that are made after a ranker has panicked
// for the node named "bad", and the panic was recovered. The test makes the ranker divide by zero:
// to compute how many pods fit a GPU, the ranker divides the GPU's free amount by the amount that a
// pod requests, both as 32-bit integers. The pod requests 2³², which is 0 as a 32-bit integer. The
// ranker divides only for a GPU that has the requested amount free, and only the GPU of "bad" has
// so much.
func TestViewAfterPanic(t *testing.T) {
	const huge = 1 << 32
	bad := sched.Node{Name: "bad", GPUs: []sched.GPU{{ID: "0", Free: huge}}}
	for name, tc := range map[string]struct {
		before, after func(*nodestate.State) // change the state before and after the panic; nil for no change
		want          []string
	}{
		"the node stays":          {want: []string{"good"}},
		"the node was known":      {before: func(s *nodestate.State) { s.SetNode(&sched.Node{Name: "bad"}) }, want: []string{"bad", "good"}},
		"the node loses its GPUs": {after: func(s *nodestate.State) { s.SetNode(&sched.Node{Name: "bad"}) }, want: []string{"bad", "good"}},
		"the node is removed":     {after: func(s *nodestate.State) { s.RemoveNode("bad") }, want: []string{"good"}},
		"another node is added":   {after: func(s *nodestate.State) { s.SetNode(&sched.Node{Name: "new"}) }, want: []string{"good", "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			ranker := fragmentation.New(fragmentation.Options{})
			ranker.See(&sched.Pod{UID: "pod", GPUs: sched.GPURequest{Count: 1, Milli: huge}})
			state := nodestatetest.New(t, "cpu", filter.Profile{Ranker: ranker})
			if tc.before != nil {
				tc.before(state)
				state.View()
			}
			state.SetNode(&bad)
			state.SetNode(&sched.Node{Name: "good"})
			if !panics(func() { state.View() }) {
				t.Fatal("the ranker does not panic")
			}
			if tc.after != nil {
				tc.after(state)
			}
			var got []string
			for node := range state.View().Nodes() {
				got = append(got, node.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func panics(f func()) (panics bool) {
	defer func() { panics = recover() != nil }()
	f()
	return false
}
