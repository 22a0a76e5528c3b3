package jobplan

import (
	"testing"
	"time"
)

// TestStuck checks for which states a pod that does not go away is reported. If its node has ended the
// pod, only a finalizer keeps it, and the advice for a node that is down would be wrong.
func TestStuck(t *testing.T) {
	now := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	for state, want := range map[State]int{Waiting: 1, Running: 1, Succeeded: 0, Failed: 0, Disrupted: 0} {
		pod := Pod{Name: "train-0", Node: "n1", State: state, Ended: now, Deleting: true, Gone: now.Add(-time.Hour)}
		got := 0
		for _, e := range Next(Job{Replicas: 1}, Progress{}, []Pod{pod}, now).Events {
			if e.Reason == EventPodStuck {
				got++
			}
		}
		if got != want {
			t.Errorf("state %d: %d events, want %d", state, got, want)
		}
	}
}
