// Package replay places pods one after the other through both tiers, each
// committed before the next is looked at: the sequential routine, which is exact
// and the same each time.
package replay

import (
	"math/rand/v2"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// Run places pods in their order, and returns where, in that order. A pod that no
// node suits when it is its turn is left out, and not tried again. The policy random
// draws from r, and the others break ties by it; nil breaks them by name.
func Run(c *nodestate.State, pods []*sched.Pod, r *rand.Rand) (placed []sched.Decision) {
	proposer := pipeline.NewProposer(c.View, pipeline.ProposerOptions{Rand: r})
	committer := pipeline.NewCommitter(c, nil, pipeline.Effects{
		Bind:              func(d sched.Decision) { placed = append(placed, d) },
		Requeue:           func(*sched.Pod) {},
		MarkUnschedulable: func(*sched.Pod, uint64) {},
	})
	for _, pod := range pods {
		committer.Commit(proposer.Propose(pod))
	}
	return placed
}
