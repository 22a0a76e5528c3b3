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
				s.Requeue(&first, sched.Reason{})
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

// TestExplainsLosses checks what Explain says about a pod that is always refused when it is to be
// placed. From manyLosses attempts on, it must say why while the pod waits for its next attempt, and
// also when the pod's back-off has ended. After an attempt that found no node, it must say something
// else.
func TestExplainsLosses(t *testing.T) {
	const losing, unknown = "nodes are found for it, but its attempts fail again and again: ", "other pods take these nodes first, or its Binding fails"
	type said struct{ Backoff, Active, InFlight string }
	reason := func(s *scene) string {
		e, _ := s.Explain("a")
		return e.Reason()
	}
	lose := func(s *scene, times int, why sched.Reason) (last said) {
		for range times {
			s.pass(time.Minute)
			pod := s.Poll()
			s.Requeue(pod, why)
			last.Backoff = reason(s)
		}
		s.pass(time.Minute)
		last.Active = reason(s)
		s.Poll()
		last.InFlight = reason(s)
		return last
	}
	quota := sched.Reason{Code: sched.Other, Detail: "the quota of ann is used up"}
	for name, tc := range map[string]struct {
		times int
		why   sched.Reason
		want  said
	}{
		"a few times":                   {manyLosses - 1, quota, said{"it backs off until 08:10:05 UTC", "it waits for its turn", "it is being scheduled"}},
		"many times":                    {manyLosses, quota, said{losing + quota.Detail, losing + quota.Detail, "it is being scheduled"}},
		"many times, because of rivals": {manyLosses, sched.Reason{}, said{losing + unknown, losing + unknown, "it is being scheduled"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(Options{})
			pod := &sched.Pod{UID: "a"}
			s.Add(Entry{Pod: pod, Created: s.now, Type: "cpu", Tenant: "ann"})
			if diff := cmp.Diff(tc.want, lose(s, tc.times, tc.why)); diff != "" {
				t.Errorf("explanations (-want +got):\n%s", diff)
			}
			s.MarkUnschedulable(pod, 0)
			if e, _ := s.Explain("a"); e.WaitsFor != ForNode {
				t.Errorf("after an attempt that found no node: %s", e)
			}
		})
	}
}
