package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

const (
	// waitsLong is the waiting time after which the controller writes an event on a pending pod.
	// The event says what the pod waits for, and usually its position in the queue.
	waitsLong = 10 * time.Second
	// atOnce is the largest number of events about long waiting that one round of reportWaiting
	// writes.
	atOnce = 100
)

// schedules reports whether this process is the leader and has begun to schedule pods.
func (c *controller) schedules() bool {
	select {
	case <-c.leads:
		return true
	default:
		return false
	}
}

// reportWaiting writes events on pods that have waited long, until ctx is done. Such an event says
// what the pod waits for, and usually its position in the queue. reportWaiting leaves out pods that
// were tried and fit no node: their condition PodScheduled already says why no node suits them.
func (c *controller) reportWaiting(ctx context.Context) error {
	reported := map[string]waitReport{}
	return every(ctx, waitsLong, func() { reported = c.reportOnce(reported) })
}

// waitReport is a report that a pod waits: the reported message, and the pod's reason to wait
// (why). The reason leaves out the pod's position in the queue, which changes often.
type waitReport struct{ why, message string }

// reportOnce writes an event for each pod that has waited long and whose reason to wait has
// changed, but not more than atOnce events. reported has the last report of each pod, by pod UID.
// reportOnce returns the reports that the caller must pass to the next call.
func (c *controller) reportOnce(reported map[string]waitReport) map[string]waitReport {
	now, left := map[string]waitReport{}, atOnce
	if !c.schedules() {
		return now
	}
	for _, e := range c.queue.List() {
		if left == 0 || e.Waited < waitsLong || e.State != queue.Active && e.State != queue.WaitingOnPermit && e.WaitsFor != queue.ForGangPods {
			continue
		}
		before := reported[e.UID]
		if said := c.reporter.LastReport(e.UID); said != before.message {
			continue
		}
		now[e.UID] = before
		if why := e.Reason(); why != before.why {
			now[e.UID] = waitReport{why, e.String()}
			c.reporter.Waits(e.Pod, e.String())
			left--
		}
	}
	return now
}
