package controller

import (
	"context"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

const (
	// waitsLong is the waiting time after which an event on the pod says which pods come first.
	waitsLong = 10 * time.Second
	// atOnce limits how many such reports are made in one round.
	atOnce = 100
)

// schedules reports whether this process schedules pods now.
func (c *controller) schedules() bool {
	select {
	case <-c.leads:
		return true
	default:
		return false
	}
}

// reportWaiting reports, on pods that have waited long, which pods come before them, until ctx
// ends. Pods that were tried already have a report of why no node suits them.
func (c *controller) reportWaiting(ctx context.Context) error {
	reported := map[string]waitReport{}
	return every(ctx, waitsLong, func() { reported = c.reportOnce(reported) })
}

// waitReport is a message that was reported for a pod, and its reason. The reason does
// not include the position in the queue, which changes all the time.
type waitReport struct{ why, message string }

// reportOnce reports the pods whose reason has changed since the last report, and returns
// the last reports of all waiting pods.
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
