package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/internal/controller/bind"
	"github.com/numalet/numalet/internal/controller/podevents"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// again is how soon a pod that nothing suits is tried again though nothing
// that is watched for happened.
const again = time.Minute

// pending is the queue, which tells authors of pods that nothing suits.
type pending struct {
	*queue.GangQueue
	reporter *podevents.Reporter
}

// MarkUnschedulable is the queue's.
func (p pending) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	p.GangQueue.MarkUnschedulable(pod, gains)
	if _, waits := p.Waited(pod.UID); waits {
		p.reporter.Unschedulable(pod)
	}
}

// retry tries those unschedulable pods again that a node may suit now.
func (c *controller) retry(node *sched.Node) {
	c.queue.Reactivate(func(pod *sched.Pod) bool { return pod.Across || filter.FitsAny(pod, node) })
}

// retryOn tries those unschedulable pods again that a node of that name may suit now.
func (c *controller) retryOn(name string) {
	if node := c.center.Record(name); node != nil {
		c.retry(node)
	}
}

// lookAgain tries all unschedulable pods again now and then until ctx ends.
func (c *controller) lookAgain(ctx context.Context) error {
	return every(ctx, again, func() { c.queue.Reactivate(func(*sched.Pod) bool { return true }) })
}

// bind writes a decision down, and tells. Until it has, nobody may write that
// the pod is pending.
func (c *controller) bind(ctx context.Context, d sched.Decision) error {
	c.reporter.Suppress(d.Pod.UID)
	posted := false
	err := c.filters.committer.Bind(ctx, d, func() error {
		posted = true
		return c.binder.Bind(ctx, d)
	})
	if err != nil {
		c.log.Error(err, "its node gets everything back, and the pod is pending again")
		if !posted || bind.IsRefusal(err) {
			c.reporter.Failed(d.Pod, err)
		}
		return err
	}
	c.log.V(2).Info("bound", "pod", d.Pod.String(), "node", d.At.Node)
	if waited, ok := c.queue.Waited(d.Pod.UID); ok {
		c.measured.wait.Observe(waited.Seconds())
	}
	c.reporter.Scheduled(d)
	return nil
}
