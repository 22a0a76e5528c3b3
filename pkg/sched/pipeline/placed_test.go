package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestListedPlacement checks that the committer uses the placement in a pod's list if the
// node has not changed, even if the committer would compute a different placement. If the
// node has changed, the committer must compute the placement again.
func TestListedPlacement(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*nodestate.State)
		want   string // the ID of the GPU that the pod gets
	}{
		"unchanged": {func(*nodestate.State) {}, "listed"},
		"changed":   {func(s *nodestate.State) { s.Adopt(nodestate.Assignment{UID: "other", Node: "n"}) }, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			state := nodestatetest.New(t, "gpus", filter.Profile{})
			state.SetNode(&sched.Node{Name: "n", GPUs: []sched.GPU{{ID: "first", Free: sched.WholeGPU}, {ID: "listed", Free: sched.WholeGPU}}})
			pod := &sched.Pod{UID: "p", GPUs: sched.GPURequest{Count: 1, Milli: sched.WholeGPU}}
			list := pipeline.NewProposer(state.View, pipeline.ProposerOptions{}).Propose(pod)
			list.Candidates[0].At.GPUs[0].ID = "listed"
			tc.change(state)
			var got sched.Placement
			pipeline.NewCommitter(state, nil, pipeline.Effects{Bind: func(decision sched.Decision) { got = decision.At }}).Commit(list)
			want := sched.Placement{Node: "n", GPUs: []sched.GPUShare{{ID: tc.want, Milli: sched.WholeGPU}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("placement (-want +got):\n%s", diff)
			}
		})
	}
}
