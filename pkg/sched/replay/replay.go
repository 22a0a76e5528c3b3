// Package replay places pods one after the other through both tiers, each
// committed before the next is looked at: the sequential routine, which is exact
// and the same each time.
package replay

import (
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/center"
	"github.com/numalet/numalet/pkg/sched/commit"
	"github.com/numalet/numalet/pkg/sched/propose"
)

// Result is what came of a replay.
type Result struct {
	Placed   []sched.Decision // in the order of the pods
	Unplaced []*sched.Pod     // no node suited them when it was their turn
	Counters commit.Counters
}

// Run places pods in their order. A pod that no node suits is not tried again.
func Run(c *center.Center, pods []*sched.Pod, o propose.Options) Result {
	var r Result
	unplaced := func(p *sched.Pod) { r.Unplaced = append(r.Unplaced, p) }
	proposer := propose.New(c.View, o)
	committer := commit.New(c, o.Filter, commit.Env{
		Bind:    func(d sched.Decision) { r.Placed = append(r.Placed, d) },
		Requeue: unplaced,
		Park:    func(p *sched.Pod, _ uint64) { unplaced(p) },
	})
	for _, pod := range pods {
		committer.Commit(proposer.Propose(pod))
	}
	r.Counters = committer.Counters()
	return r
}
