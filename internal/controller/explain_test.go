package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
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

// TestDueStates checks which pods that have waited long are reported, and how often. A pod whose
// attempts fail again and again after nodes were found for it is reported once, even if each attempt
// fails for another reason: nothing else would tell its owner why it waits.
func TestDueStates(t *testing.T) {
	waits, attempt := queue.Explanation{State: queue.Active}, queue.Explanation{State: queue.InFlight, WaitsFor: queue.ForNothing}
	backsOff, fitsNone := queue.Explanation{State: queue.Backoff, WaitsFor: queue.ForBackoff}, queue.Explanation{State: queue.Unschedulable, WaitsFor: queue.ForNode}
	rivals := queue.Explanation{State: queue.Backoff, WaitsFor: queue.ForRetry}
	quota, cpus := rivals, rivals
	quota.Why, cpus.Why = sched.Reason{Code: sched.Other, Detail: "the quota is used up"}, sched.Reason{Code: sched.Insufficient, Detail: "cpu"}
	for name, tc := range map[string]struct {
		pod  []queue.Explanation // in one round after another
		last string              // the newest report about the pod before the first round
		then string              // what is reported about the pod after the first round
		want []int               // how many events are due in each round
	}{
		"it waits for its turn":                {pod: []queue.Explanation{waits, waits, attempt, waits}, want: []int{1, 0, 0, 0}},
		"it waits, after another report":       {pod: []queue.Explanation{waits}, last: "no node", want: []int{0}},
		"it backs off":                         {pod: []queue.Explanation{backsOff}, want: []int{0}},
		"it fits no node":                      {pod: []queue.Explanation{fitsNone}, want: []int{0}},
		"its nodes refuse it each time":        {pod: []queue.Explanation{quota, attempt, cpus, rivals}, want: []int{1, 0, 0, 0}},
		"its nodes refuse it, after no node":   {pod: []queue.Explanation{quota, quota}, last: "no node", want: []int{1, 0}},
		"its nodes refuse it, and then none":   {pod: []queue.Explanation{quota, quota, quota}, then: "no node", want: []int{1, 1, 0}},
		"rivals take its nodes each time":      {pod: []queue.Explanation{rivals, attempt, rivals}, want: []int{1, 0, 0}},
		"its turn comes, and rivals are first": {pod: []queue.Explanation{waits, backsOff, rivals}, want: []int{1, 0, 1}},
		"its Binding fails, which is reported": {pod: []queue.Explanation{rivals}, last: "bind pod: forbidden", want: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			last, reports, got := tc.last, map[string]waitReport(nil), []int(nil)
			for i, pod := range tc.pod {
				if i == 1 && tc.then != "" {
					last = tc.then
				}
				var due []queue.Explanation
				pod.Waited = waitsLong
				due, reports = dueReports([]queue.Explanation{pod}, reports, func(string) string { return last })
				for _, e := range due {
					last = e.String()
				}
				got = append(got, len(due))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("due events (-want +got):\n%s", diff)
			}
		})
	}
}
