package pipeline_test

import (
	"testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestEmptyList checks that the committer does not search again if a proposer found no node
// for a pod, because all other pods would wait meanwhile. The pod in this test has volumes
// to reserve (sched.Pod.Reserves), for which the committer sometimes has to search.
func TestEmptyList(t *testing.T) {
	state, searches, unschedulable := nodestatetest.New(t, "cpu", filter.Profile{}), 0, 0
	committer := pipeline.NewCommitter(state, nil, pipeline.Effects{
		Widen:             func(pod *sched.Pod) sched.List { searches++; return sched.List{Pod: pod} },
		MarkUnschedulable: func(*sched.Pod, uint64) { unschedulable++ },
	})
	pod := &sched.Pod{UID: "p", Across: true, Reserves: true}
	if committer.Commit(pipeline.NewProposer(state.View, pipeline.ProposerOptions{}).Propose(pod)) {
		t.Error("the pod is placed on no node")
	}
	if searches != 0 || unschedulable != 1 {
		t.Errorf("%d searches by the committer, want none; marked unschedulable %d times, want once", searches, unschedulable)
	}
}
