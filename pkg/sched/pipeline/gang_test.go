package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestGangMissesNothing checks that a gang that did not fit is retried if another pod
// releases resources after the proposer has planned the gang and before the committer
// commits the plan. If no resources are released, the gang must not be retried.
func TestGangMissesNothing(t *testing.T) {
	for name, ends := range map[string]bool{"nothing ends": false, "a pod ends meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			c := oneNode(t, 4000)
			c.Adopt(nodestate.Assignment{UID: "old", Node: "node", Holding: sched.Holding{Amounts: sched.Amounts{CPU: 2000, Pods: 1}}})
			freedSeq := uint64(0)
			committer := pipeline.NewCommitter(c, nil, pipeline.Effects{MarkUnschedulable: func(_ *sched.Pod, seq uint64) { freedSeq = seq }})
			gang := &sched.Gang{ID: "gang", Need: 3}
			for i := range 3 {
				gang.Members = append(gang.Members, &sched.Pod{UID: fmt.Sprint("pod-", i), Requests: sched.Amounts{CPU: 1000, Pods: 1}})
			}
			list := pipeline.NewProposer(c.View, pipeline.ProposerOptions{}).Propose(&sched.Pod{UID: gang.ID, Gang: gang})
			if ends {
				c.Release("old")
			}
			committer.Commit(list)
			if again := c.FreedSeq() > freedSeq; again != ends {
				t.Errorf("unschedulable as of FreedSeq %d, now %d; retried %v, want %v", freedSeq, c.FreedSeq(), again, ends)
			}
		})
	}
}

// oneNode returns the state of a cluster with one node.
func oneNode(t *testing.T, cpu sched.MilliCPU) *nodestate.State {
	t.Helper()
	state := nodestatetest.New(t, "cpu", filter.Profile{})
	state.SetNode(&sched.Node{Name: "node", Allocatable: sched.Amounts{CPU: cpu, Pods: 110}})
	return state
}
