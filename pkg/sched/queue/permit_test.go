package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

// TestPermitChanged checks that Permit refuses a pod whose request has changed since
// Poll returned it, so that the pod is not placed with its old request.
func TestPermitChanged(t *testing.T) {
	s := newScene(Options{})
	s.arrive("a", "ann", "T4", 1, 0)
	before := s.Poll()
	s.arrive("a", "ann", "T4", 2, 0)
	if ok, _ := s.Permit(before); ok {
		t.Error("the pod may be placed with its former request")
	}
	after := s.Poll()
	if ok, _ := s.Permit(after); !ok || after.GPUs.Count != 2 {
		t.Errorf("permitted: %v, GPUs %d, want 2", ok, after.GPUs.Count)
	}
}

// TestPermitTopics checks which pods the queue keeps in its list of pods by topic
// (waiting.byTopic). A pod that Permit has refused must no longer be there, because it waits for
// another pod and not for a change in the cluster. The unschedulable pod that blocks it must stay
// there.
func TestPermitTopics(t *testing.T) {
	s := newScene(Options{Strict: true})
	s.arrive("a", "ann", "T4", 1, 1)
	s.arrive("b", "ann", "T4", 1, 0)
	a, b := s.Poll(), s.Poll()
	s.MarkUnschedulable(a, 0)
	if ok, _ := s.Permit(b); ok {
		t.Fatal("b is permitted, although a blocks it")
	}
	var asked []string
	s.Notify(a.Topics, func(pod *sched.Pod) bool {
		asked = append(asked, pod.Name)
		return false
	})
	slices.Sort(asked)
	if diff := cmp.Diff([]string{"a"}, asked); diff != "" {
		t.Errorf("pods that Notify considers (-want +got):\n%s", diff)
	}
}

// TestChangedHead checks that an unschedulable pod that is changed again and again, for example by new
// labels, does not block the pods behind it for longer than a pod that does not change. The
// first unschedulable pod of a type blocks them until AllowBypass is called. Package reservation
// calls AllowBypass when Head.Since is long enough ago, so the changes must not move this time.
func TestChangedHead(t *testing.T) {
	s := newScene(Options{Strict: true})
	began := s.now
	s.arrive("a", "ann", "T4", 1, 1)
	s.arrive("b", "ann", "T4", 1, 0)
	attempt := func() {
		for pod := s.Poll(); pod != nil; pod = s.Poll() {
			s.MarkUnschedulable(pod, 0)
		}
	}
	attempt()
	for range 10 {
		s.now = s.now.Add(500 * time.Millisecond)
		s.arrive("a", "ann", "T4", 1, 1)
		attempt()
	}
	if since := s.Heads()[0].Since; !since.Equal(began) {
		t.Errorf("pod a counts as unschedulable since %v after the start, want 0", since.Sub(began))
	}
	s.arrive("b", "ann", "T4", 1, 0)
	if pod := s.Poll(); pod != nil {
		t.Errorf("%s is returned, although a blocks it", pod)
	}
	s.AllowBypass("a")
	s.arrive("a", "ann", "T4", 1, 1)
	a := s.Poll()
	b := s.Poll()
	if a == nil || b == nil || a.Name != "a" || b.Name != "b" {
		t.Fatalf("the pods %v and %v are returned, want a and b", a, b)
	}
	s.MarkUnschedulable(a, 0)
	if ok, _ := s.Permit(b); !ok {
		t.Error("pod a blocks pod b again after a change")
	}
}
