package controller

import (
	"fmt"
	"testing"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestDueReports lets more pods wait than one round may report (the constant atOnce). It checks
// that one event is due about each pod, and one more event after the pod's reason to wait has
// changed. In an earlier version, if the reasons of more than atOnce pods changed, only the first
// atOnce of these pods were ever reported again.
func TestDueReports(t *testing.T) {
	var pods []queue.Explanation
	for i := range 3 * atOnce / 2 {
		pods = append(pods, queue.Explanation{UID: fmt.Sprint(i), State: queue.Active, Waited: waitsLong, WaitsFor: queue.ForBlocker, Blocker: "first"})
	}
	messages, reports, due := map[string]string{}, map[string]waitReport(nil), []queue.Explanation(nil)
	round := func(want int) {
		t.Helper()
		due, reports = dueReports(pods, reports, func(uid string) string { return messages[uid] })
		for _, e := range due {
			messages[e.UID] = e.String()
		}
		if len(due) != want {
			t.Errorf("%d reports are due, want %d", len(due), want)
		}
	}
	round(atOnce)
	round(atOnce / 2)
	round(0)
	for i := range pods {
		pods[i].Blocker = "second"
	}
	round(atOnce)
	round(atOnce / 2)
	round(0)
}
