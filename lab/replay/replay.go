// Package replay schedules pods one after the other. It uses the controller's proposer, which looks
// for nodes for a pod, and the controller's committer, which assigns one of these nodes. Each pod
// is committed before the next one is proposed, so the result is deterministic.
package replay

import (
	"math/rand/v2"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// Run schedules pods in their order and returns the decisions in that order. A pod that fits no
// node is left out and not retried. The policy "random" chooses nodes with the random numbers of r.
// The other policies use r only to choose among equally good nodes. If r is nil, they choose among
// these by the name of the node.
func Run(state *nodestate.State, pods []*sched.Pod, r *rand.Rand) (placed []sched.Decision) {
	proposer := pipeline.NewProposer(state.View, pipeline.ProposerOptions{Rand: r})
	committer := pipeline.NewCommitter(state, nil, pipeline.Effects{
		Bind:              func(decision sched.Decision) { placed = append(placed, decision) },
		Requeue:           func(*sched.Pod, sched.Reason) {},
		MarkUnschedulable: func(*sched.Pod, uint64) {},
	})
	for _, pod := range pods {
		committer.Commit(proposer.Propose(pod))
	}
	return placed
}
