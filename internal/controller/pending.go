package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/internal/controller/podwriter"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// The constant `again` is the time after which an unschedulable pod is retried even if the queue
// knows of no change in the cluster that may help the pod.
const again = time.Minute

// pending is the queue of pending pods for the scheduling pipeline. When a pod fits no node, it also
// tells the reporter, which writes the pod's condition and event.
type pending struct {
	*queue.GangQueue
	reporter *podwriter.Reporter
}

// MarkUnschedulable records in the queue that a pod fits no node. If the pod is still pending, the
// reporter then writes this as the pod's condition and as an event. The parameter `gains` is the
// value that queue.Env.FreedSeq had when the nodes were read: it counts how often resources have
// become free. If resources have become free since the nodes were read, the queue usually retries
// the pod soon.
func (p pending) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	p.GangQueue.MarkUnschedulable(pod, gains)
	if _, waits := p.Waited(pod.UID); waits {
		p.reporter.Unschedulable(pod)
	}
}

// hopeless returns true only if it is certain that no node could hold a pod even if all other pods
// ended. For a gang, it returns true only if it is certain that the nodes could not hold the number
// of pods that must start together. hopeless compares the requests and rules of the pods with
// summaries of the nodes, and does not visit all nodes. So it may return false although no node
// could hold the pod.
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

// retryOn makes the queue retry those unschedulable pods that may now fit on the node with the
// given name.
func (c *controller) retryOn(name string) {
	if node := c.state.Record(name); node != nil {
		c.queue.Freed(node)
	}
}

// lookAgain retries each unschedulable pod when a minute has passed since its last attempt. It
// continues until ctx is done. If many pods failed at the same time, it spreads their retries over
// about half a minute.
func (c *controller) lookAgain(ctx context.Context) error {
	return every(ctx, time.Second, func() { c.queue.RetryOverdue(again, 1+c.queue.Waiting()/30) })
}
