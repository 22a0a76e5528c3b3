package queue

import (
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// TestGangStandsWhereItsScarcestNeedStands checks that a gang is ordered among the pods that wait
// for GPUs if any of its pods needs a GPU, even if its oldest pod needs only CPUs. In this test,
// the gang must come after a pod of ann, because ann has used fewer GPUs than eve, the tenant of
// the gang.
func TestGangStandsWhereItsScarcestNeedStands(t *testing.T) {
	s := newScene(Options{Strict: true})
	s.setScore("eve", "T4", 9)
	q := NewGangQueue(s.Queue)
	add := func(name, tenant string, kind fairshare.Type, gang *sched.Gang) {
		s.now = s.now.Add(time.Second)
		q.Add(Entry{Pod: &sched.Pod{UID: name, Name: name, Tenant: tenant, Gang: gang}, Created: s.now, Type: kind, Tenant: tenant})
	}
	train := &sched.Gang{ID: "team/train", Need: 2}
	add("launcher", "eve", fairshare.CPU, train)
	add("worker", "eve", "T4", train)
	add("a1", "ann", "T4", nil)
	if e, _ := q.Queue.Explain("team/train"); e.Type != "T4" {
		t.Errorf("the gang waits for %s, want T4", e.Type)
	}
	for _, want := range []string{"a1", "team/train"} {
		if pod := q.Poll(); pod == nil || pod.Name != want {
			t.Errorf("%v is taken, want %s", pod, want)
		}
	}
}
