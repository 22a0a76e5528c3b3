package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

const (
	// waitsLong is the waiting time after which an event on a pod says which pods come before it in
	// the queue.
	waitsLong = 10 * time.Second
	// atOnce limits how many events of this kind are written in one round of reportWaiting.
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

// reportWaiting writes events on pods that have waited long, until ctx ends. Such an event says
// which pods come before this one. Pods that were tried and do not fit already have a report of why
// no node suits them.
func (c *controller) reportWaiting(ctx context.Context) error {
	reported := map[string]waitReport{}
	return every(ctx, waitsLong, func() { reported = c.reportOnce(reported) })
}

// waitReport is the message that was reported for a pod, and the pod's reason to wait. The reason
// leaves out the position in the queue, which changes often.
type waitReport struct{ why, message string }

// reportOnce reports the pods whose reason to wait differs from the one in reported, which has the
// earlier reports by pod UID. It returns the newest report of each pod for the next call.
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
