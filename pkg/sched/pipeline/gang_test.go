package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestGangMissesNothing: a gang for which too little is free is tried again for what
// others have given back while it was tried, and not for what its own try has.
func TestGangMissesNothing(t *testing.T) {
	for name, ends := range map[string]bool{"nothing ends": false, "a pod ends meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			c := oneNode(t, 4000)
			c.Adopt(nodestate.Assignment{UID: "old", Node: "node", Holding: sched.Holding{Amounts: sched.Amounts{CPU: 2000, Pods: 1}}})
			look := pipeline.NewProposer(c.View, pipeline.ProposerOptions{}).Propose
			parked := uint64(0)
			committer := pipeline.NewCommitter(c, nil, pipeline.Effects{
				MarkUnschedulable: func(_ *sched.Pod, gains uint64) { parked = gains },
				Widen: func(pod *sched.Pod) sched.List {
					list := look(pod)
					if ends && len(list.Candidates) == 0 {
						c.Release("old") // after the last look
					}
					return list
				},
			})
			gang := &sched.Gang{ID: "gang", Need: 3}
			for i := range 3 {
				gang.Members = append(gang.Members, &sched.Pod{UID: fmt.Sprint("pod-", i), Requests: sched.Amounts{CPU: 1000, Pods: 1}})
			}
			committer.Commit(sched.List{Pod: &sched.Pod{UID: gang.ID, Gang: gang}, FreedSeq: c.FreedSeq()})
			if again := c.FreedSeq() > parked; again != ends {
				t.Errorf("parked as of %d gains, of %d; tried again %v, want %v", parked, c.FreedSeq(), again, ends)
			}
		})
	}
}

// oneNode returns a centre of one node.
func oneNode(t *testing.T, cpu sched.MilliCPU) *nodestate.State {
	t.Helper()
	c := nodestatetest.New(t, "cpu", nodestate.Profile{})
	c.SetNode(&sched.Node{Name: "node", Allocatable: sched.Amounts{CPU: cpu, Pods: 110}})
	return c
}
