package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/internal/controller/podwriter"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// again is the time after a failed attempt at which an unschedulable pod is tried again, in case a
// change that would help it went unnoticed.
const again = time.Minute

// pending is the queue of pending pods. It also reports the pods that fit no node.
type pending struct {
	*queue.GangQueue
	reporter *podwriter.Reporter
}

// MarkUnschedulable records in the queue that a pod fits no node. It reports this if the pod is
// still pending.
func (p pending) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	p.GangQueue.MarkUnschedulable(pod, gains)
	if _, waits := p.Waited(pod.UID); waits {
		p.reporter.Unschedulable(pod)
	}
}

// hopeless reports whether no node could hold a pod even if all other pods ended. For a gang, it
// reports this for the number of pods that must start together. It compares requests and rules, but
// does not visit all nodes. So it may return false for a pod that no node can hold.
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

// retryOn makes the queue retry those unschedulable pods that may now fit on a node.
func (c *controller) retryOn(name string) {
	if node := c.state.Record(name); node != nil {
		c.queue.Freed(node)
	}
}

// lookAgain retries each unschedulable pod a minute (again) after its last attempt, until ctx ends.
// It retries pods that failed at the same time one after another, within half a minute.
func (c *controller) lookAgain(ctx context.Context) error {
	return every(ctx, time.Second, func() { c.queue.RetryOverdue(again, 1+c.queue.Waiting()/30) })
}
