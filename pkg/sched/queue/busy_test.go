package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// TestBackoffBoundsAttempts checks that back-off limits the number of attempts for a pod that fits
// no node. In each millisecond, the cluster changes in a way that may help the pod. The test
// simulates one minute.
func TestBackoffBoundsAttempts(t *testing.T) {
	for _, c := range []struct {
		name   string
		strict bool // Options.Strict is set, so the pod, as the first unschedulable pod of its type, blocks the pods behind it
		across bool
		most   int
	}{
		{"a pod whose fit depends on other nodes", false, true, 20},
		{"the same at the head of its type", true, true, 20},
		{"a pod at the head of its type", true, false, 75},
		{"another pod", false, false, 75},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(Options{Strict: c.strict})
			s.Add(Entry{Pod: &sched.Pod{UID: "p", Name: "p", Across: c.across}, Type: "cpu", Tenant: "ann"})
			attempts := 0
			for range 60_000 {
				s.freedSeq++
				s.Freed(&sched.Node{Name: "n"})
				if pod := s.Poll(); pod != nil {
					attempts++
					s.MarkUnschedulable(pod, s.freedSeq)
				}
				s.pass(time.Millisecond)
			}
			if attempts > c.most {
				t.Errorf("%d attempts in a minute, want at most %d", attempts, c.most)
			}
		})
	}
}

// TestLacks checks that a pod that lacks a required neighbor (sched.Pod.Lacks) is not retried when
// resources become free, even if they become free during an attempt to schedule the pod. The pod
// must be retried when the neighbor comes. A pod of a gang is retried in all these cases, because
// the neighbor may be another pod of the gang.
func TestLacks(t *testing.T) {
	for _, c := range []struct {
		name  string
		lacks bool
		gang  *sched.Gang
		want  int // attempts
	}{
		{"it lacks the neighbor", true, nil, 1},
		{"it has the neighbor", false, nil, 2},
		{"another pod of its gang may be the neighbor", true, &sched.Gang{ID: "g", Need: 2}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, web := newScene(Options{}), sched.Topic{Key: "app", Value: "web"}
			s.Add(Entry{Pod: &sched.Pod{UID: "p", Across: true, Topics: []sched.Topic{web}, Lacks: func() bool { return c.lacks }, Gang: c.gang}, Type: "cpu", Tenant: "ann"})
			attempts := 0
			try := func() {
				for range 100 {
					if pod := s.Poll(); pod != nil {
						attempts++
						before := s.freedSeq
						if attempts == 1 {
							s.freedSeq++
						}
						s.MarkUnschedulable(pod, before)
					}
					s.pass(time.Second)
				}
			}
			try()
			if attempts != c.want {
				t.Errorf("%d attempts as resources became free during the first one, want %d", attempts, c.want)
			}
			s.Freed(&sched.Node{Name: "n"})
			if try(); attempts != 2*c.want-1 {
				t.Errorf("%d attempts after resources became free, want %d", attempts, 2*c.want-1)
			}
			s.Notify([]sched.Topic{web}, nil)
			if try(); attempts != 2*c.want {
				t.Errorf("%d attempts after the neighbor came, want %d", attempts, 2*c.want)
			}
		})
	}
}

// BenchmarkEvent measures a call of Freed that helps no pod: the node has fewer free CPUs than any
// waiting pod requests.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{1000, 10_000, 50_000} {
		b.Run(fmt.Sprint("waiting=", n), func(b *testing.B) {
			s := newScene(Options{})
			for i := range n {
				pod := &sched.Pod{UID: fmt.Sprint(i), Requests: sched.Amounts{CPU: sched.MilliCPU(2000 + i%5000), Memory: sched.Bytes(i), Pods: 1}}
				s.Add(Entry{Pod: pod, Type: "cpu", Tenant: "ann"})
				s.MarkUnschedulable(s.Poll(), 0)
			}
			node := &sched.Node{Name: "n", Free: sched.Amounts{CPU: 1000, Memory: 1 << 40, Pods: 100}}
			b.ReportAllocs()
			for b.Loop() {
				s.Freed(node)
			}
		})
	}
}

// BenchmarkNotify measures a call of Notify that helps no pod: a pod with one label was bound, but
// all waiting pods need a neighbor with another label.
func BenchmarkNotify(b *testing.B) {
	for _, n := range []int{1000, 10_000, 50_000} {
		b.Run(fmt.Sprint("waiting=", n), func(b *testing.B) {
			s := newScene(Options{})
			for i := range n {
				pod := &sched.Pod{UID: fmt.Sprint(i), Across: true, Topics: []sched.Topic{{Scope: "default", Key: "app", Value: "never"}}}
				s.Add(Entry{Pod: pod, Type: "cpu", Tenant: "ann"})
				s.MarkUnschedulable(s.Poll(), 0)
			}
			placed := []sched.Topic{{Scope: "default"}, {Scope: "default", Key: "app", Value: "web"}, {Scope: "*"}, {Scope: "*", Key: "app", Value: "web"}}
			b.ReportAllocs()
			for b.Loop() {
				s.Notify(placed, nil)
			}
		})
	}
}
