// Package replay schedules pods one after the other with one proposer and the committer:
// each pod is committed before the next one is proposed. The result is deterministic.
package replay

import (
	"math/rand/v2"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// Run schedules pods in their order and returns the decisions in that order. A pod that
// fits no node is left out and not retried. The policy random draws from r, and other
// policies break ties with it; nil breaks ties by name.
func Run(state *nodestate.State, pods []*sched.Pod, r *rand.Rand) (placed []sched.Decision) {
	proposer := pipeline.NewProposer(state.View, pipeline.ProposerOptions{Rand: r})
	committer := pipeline.NewCommitter(state, nil, pipeline.Effects{
		Bind:              func(decision sched.Decision) { placed = append(placed, decision) },
		Requeue:           func(*sched.Pod) {},
		MarkUnschedulable: func(*sched.Pod, uint64) {},
	})
	for _, pod := range pods {
		committer.Commit(proposer.Propose(pod))
	}
	return placed
}
