package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

// TestLost checks what happens to a pod whose nodes are repeatedly taken by other pods. A gang
// must first be retried at once. Then it must be retried from the state WaitingOnPermit, so that
// the pod behind it has to wait. After that it must back off. The same holds for a pod whose fit
// depends on other nodes too. Any other pod must back off each time.
func TestLost(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  sched.Pod
		want []State // the state of the pod after each call of Requeue
		held []bool  // in each attempt: whether the pod "b", which comes after the tested pod, has to wait
	}{
		"a pod":                           {sched.Pod{}, []State{Backoff, Backoff}, []bool{false, false, false}},
		"one that depends on other nodes": {sched.Pod{Across: true}, []State{Active, Active, WaitingOnPermit, WaitingOnPermit, Backoff, Backoff}, []bool{false, false, false, true, true, false, false}},
		"a gang":                          {sched.Pod{Gang: &sched.Gang{ID: "a"}}, []State{Active, Active, WaitingOnPermit, WaitingOnPermit, Backoff}, []bool{false, false, false, true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(Options{})
			first := tc.pod
			first.UID = "a"
			s.Add(Entry{Pod: &first, Created: s.now, Type: "cpu", Tenant: "ann"})
			var got []State
			var held []bool
			for range len(tc.want) + 1 {
				behind := &sched.Pod{UID: "b"}
				s.Add(Entry{Pod: behind, Created: s.now.Add(time.Hour), Type: "cpu", Tenant: "ann"})
				if pod := s.Poll(); pod != &first {
					t.Fatalf("the turn is %v's, want a's", pod)
				}
				held = append(held, s.Poll() == nil)
				s.Remove("b")
				if len(got) == len(tc.want) {
					break
				}
				if ok, _ := s.Permit(&first); !ok {
					t.Fatal("a may not be placed")
				}
				s.Requeue(&first)
				state, _ := s.State("a")
				got = append(got, state)
				if state == Backoff {
					s.pass(time.Minute)
				}
			}
			if diff := cmp.Diff(tc.want, got) + cmp.Diff(tc.held, held); diff != "" {
				t.Errorf("states, and whether the pod behind waits (-want +got):\n%s", diff)
			}
		})
	}
}
