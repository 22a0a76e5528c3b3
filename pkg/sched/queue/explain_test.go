package queue

import (
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// TestBlockerOfAnotherNamespace checks that the explanation of a pod names the pod that blocks it only
// if both are in the same namespace. Otherwise it names the tenant.
func TestBlockerOfAnotherNamespace(t *testing.T) {
	for namespace, want := range map[string]string{
		"team":  "it waits behind team/big, which fits no node",
		"other": "it waits behind a pod of tenant bob, which fits no node",
	} {
		s := newScene(Options{Strict: true})
		big := &sched.Pod{UID: "big", Namespace: namespace, Name: "big"}
		s.Add(Entry{Pod: big, Created: s.now, Type: "T4", Tenant: "bob"})
		s.Poll()
		s.MarkUnschedulable(big, 0)
		s.Add(Entry{Pod: &sched.Pod{UID: "small", Namespace: "team", Name: "small"}, Created: s.now.Add(time.Second), Type: "T4", Tenant: "bob"})
		if e, _ := s.Explain("small"); e.Reason() != want {
			t.Errorf("behind a pod of the namespace %s: %q, want %q", namespace, e.Reason(), want)
		}
	}
}

// TestScoreOfIncompleteGang checks that the explanation of a pod of an incomplete gang has the score
// of the pod's tenant.
func TestScoreOfIncompleteGang(t *testing.T) {
	s := newScene(Options{})
	s.scores["ann T4"] = 7.9
	q := NewGangQueue(s.Queue)
	q.Add(Entry{Pod: &sched.Pod{UID: "a", Gang: &sched.Gang{ID: "g", Need: 2}}, Created: s.now, Type: "T4", Tenant: "ann"})
	if e, ok := q.Explain("a"); !ok || e.WaitsFor != ForGangPods || e.Score != 7.9 {
		t.Errorf("%+v, want an incomplete gang with the score 7.9", e)
	}
}
