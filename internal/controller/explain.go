package controller

import (
	"context"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

const (
	// waitsLong is the waiting time after which the controller writes an event on a pending pod.
	// The event says what the pod waits for, and usually its position in the queue.
	waitsLong = 10 * time.Second
	// atOnce is the largest number of events that one round of reportWaiting writes.
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

// reportWaiting runs until ctx is done. It writes events on pods that have waited long. Such an
// event says what the pod waits for, and usually its position in the queue. reportWaiting leaves
// out pods that were tried and fit no node: their condition PodScheduled already says why no node
// suits them.
func (c *controller) reportWaiting(ctx context.Context) error {
	reported := map[string]waitReport{}
	return every(ctx, waitsLong, func() { reported = c.reportOnce(reported) })
}

// waitReport is a report that a pod waits: the reported message, and the pod's reason to wait
// (why). The reason leaves out what changes often: the pod's position in the queue, and why its last
// attempt failed.
type waitReport struct{ why, message string }

// reportOnce writes an event for each pod that has waited long and whose reason to wait has
// changed, but not more than atOnce events. It leaves out pods that are being bound. The parameter
// `reported` has the last report about each pod, by the pod's UID: the caller must pass the result of
// the previous call.
func (c *controller) reportOnce(reported map[string]waitReport) map[string]waitReport {
	if !c.schedules() {
		return nil
	}
	pods := slices.DeleteFunc(c.queue.List(), func(e queue.Explanation) bool { return c.state.Holds(e.UID) })
	due, reports := dueReports(pods, reported, c.reporter.LastReport)
	for _, e := range due {
		c.reporter.Waits(e.Pod, e.String())
	}
	return reports
}

// dueReports returns the pods about which reportOnce writes an event, and the result of reportOnce.
// The parameter `reported` has the result of the previous call. The function given as `last` takes
// a pod's UID, and returns the message of the newest report about the pod, whatever the report
// says.
func dueReports(pods []queue.Explanation, reported map[string]waitReport, last func(uid string) string) (due []queue.Explanation, reports map[string]waitReport) {
	reports = map[string]waitReport{}
	for _, e := range pods {
		before := reported[e.UID]
		ours := last(e.UID) == before.message
		if !ours {
			before = waitReport{}
		}
		may := mayReport(e, ours)
		if may || ours { // until something else is reported about the pod
			reports[e.UID] = before
		}
		why := e.Reason()
		if e.WaitsFor == queue.ForRetry {
			why = "retry"
		}
		if may && why != before.why && len(due) < atOnce {
			reports[e.UID], due = waitReport{why, e.String()}, append(due, e)
		}
	}
	return due, reports
}

// mayReport reports whether an event may say what a pod waits for. The parameter `ours` is false if the
// newest report about the pod is not one of reportOnce, for example a report that no node suits the
// pod. Such a report stays, unless nodes were found for the pod since then, and refused it.
func mayReport(e queue.Explanation, ours bool) bool {
	switch {
	case e.Waited < waitsLong:
		return false
	case e.WaitsFor == queue.ForRetry:
		return ours || e.Why.Refuses()
	}
	return ours && (e.WaitsFor == queue.ForGangPods || e.State == queue.Active || e.State == queue.WaitingOnPermit)
}
