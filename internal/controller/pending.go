package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/internal/controller/podwriter"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// again is how often an unschedulable pod is tried again, in case a change that would help
// it was not observed.
const again = time.Minute

// pending is the queue of pending pods. It also reports pods that no node suits.
type pending struct {
	*queue.GangQueue
	reporter *podwriter.Reporter
}

// MarkUnschedulable marks a pod in the queue, and reports it if it is still pending.
func (p pending) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	p.GangQueue.MarkUnschedulable(pod, gains)
	if _, waits := p.Waited(pod.UID); waits {
		p.reporter.Unschedulable(pod)
	}
}

// hopeless reports whether no node could hold a pod even if all other pods ended, as far as amounts,
// rules and other pods show without a visit to all nodes. For a gang this concerns as many pods as start
// together.
func (c *controller) hopeless(pod *sched.Pod) bool {
	pods, need := pod.Together()
	if !c.filters.cluster.CouldHold(pods, need) {
		return true
	}
	for i, one := range pods {
		if need == 0 || len(pods)-i < need {
			break
		}
		if c.state.CouldHold(one) {
			need--
		}
	}
	return need > 0
}

// retryOn reactivates the unschedulable pods that may fit on the named node now.
func (c *controller) retryOn(name string) {
	if node := c.state.Record(name); node != nil {
		c.queue.Freed(node)
	}
}

// lookAgain retries each unschedulable pod at intervals of again, until ctx ends. Pods that
// failed together are spread over half of the interval.
func (c *controller) lookAgain(ctx context.Context) error {
	return every(ctx, time.Second, func() { c.queue.RetryOverdue(again, 1+c.queue.Waiting()/30) })
}
