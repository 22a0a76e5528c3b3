package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// reserver is a filter that accepts every node. The field `reserved` counts the calls of
// Reserve that were not undone by Unreserve. If the field `refuses` is true, Reserve
// refuses every decision.
type reserver struct {
	refuses  bool
	reserved int
}

func (r *reserver) Begin(*sched.Pod) ([]string, sched.Reason) { return nil, sched.Reason{} }
func (r *reserver) Check(*sched.Node) sched.Reason            { return sched.Reason{} }

func (r *reserver) Reserve(sched.Decision, *sched.Node) sched.Reason {
	r.reserved++
	if r.refuses {
		return sched.Reason{Code: sched.Other}
	}
	return sched.Reason{}
}

func (r *reserver) Unreserve(sched.Decision) { r.reserved-- }

// TestReserve checks for which pods the committer calls Reserve, and that the committer
// does not place a pod for which Reserve refuses the decision.
func TestReserve(t *testing.T) {
	wait := func(*sched.Pod) sched.Reason { return sched.Reason{} }
	for name, tc := range map[string]struct {
		pod    sched.Pod
		before func(*nodestate.State) // before the commit
		asked  bool
	}{
		"plain":                     {},
		"its node has changed":      {before: func(s *nodestate.State) { s.Adopt(nodestate.Assignment{UID: "other", Node: "node"}) }},
		"may have to wait":          {pod: sched.Pod{Wait: wait}, asked: true},
		"depends on other nodes":    {pod: sched.Pod{Across: true}, asked: true},
		"others keep it away since": {before: (*nodestate.State).Narrow, asked: true},
	} {
		for _, refuses := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", refused"}[refuses], func(t *testing.T) {
				state, r := oneNode(t, 1000), &reserver{refuses: refuses}
				bound := 0
				propose := pipeline.NewProposer(state.View, pipeline.ProposerOptions{}).Propose
				committer := pipeline.NewCommitter(state, r, pipeline.Effects{
					Bind: func(sched.Decision) { bound++ }, Requeue: func(*sched.Pod) {},
					MarkUnschedulable: func(*sched.Pod, uint64) {},
				})
				pod := tc.pod
				pod.UID, pod.Requests = "pod", sched.Amounts{CPU: 500}
				list := propose(&pod)
				if tc.before != nil {
					tc.before(state)
				}
				committer.Commit(list)
				want := []int{1, 0}
				if tc.asked {
					want = []int{map[bool]int{false: 1}[refuses], 1}
				}
				if diff := cmp.Diff(want, []int{bound, r.reserved}); diff != "" {
					t.Errorf("bound, and asked (-want +got):\n%s", diff)
				}
			})
		}
	}
}
