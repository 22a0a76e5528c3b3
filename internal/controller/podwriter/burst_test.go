package podwriter

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

// TestConditionFence checks that a process that has lost the lease writes no condition, because the
// new leader may have bound the pod: the condition would then say wrongly that the pod is not
// scheduled.
func TestConditionFence(t *testing.T) {
	for lost, want := range map[bool]int{false: 1, true: 0} {
		run(t, func(t *testing.T, w *world) {
			w.fence = func() error {
				if lost {
					return errors.New("the lease is lost")
				}
				return nil
			}
			w.Refused(pod("a"), errors.New("it requests too much"))
			synctest.Wait()
			conditions := 0
			for _, text := range w.written() {
				if strings.HasPrefix(text, "status of a") {
					conditions++
				}
			}
			if conditions != want {
				t.Errorf("lease lost: %v; %d conditions are written, want %d", lost, conditions, want)
			}
		})
	}
}

// TestBurst checks 1,000 pods of three kinds (Dependencies.Kind) that become unschedulable at the
// same time. An explanation of why no node suits a pod takes 100 ms to make. After each
// explanation, the Reporter pauses for 900 ms (explainShare). But all pods of one kind share an
// explanation, so three explanations suffice, and all 1,000 conditions are written within 5 s.
func TestBurst(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.explain = func(p *sched.Pod) string {
			time.Sleep(100 * time.Millisecond)
			return "kind " + p.NodeRules
		}
		w.kindOf = func(p *sched.Pod) string { return p.NodeRules }
		for i := range 1000 {
			p := pod(fmt.Sprint(i))
			p.NodeRules = fmt.Sprint(i % 3)
			w.Unschedulable(p)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		conditions := 0
		for _, action := range w.client.Actions() {
			if action.GetVerb() == "patch" {
				conditions++
			}
		}
		if conditions != 1000 {
			t.Errorf("%d of 1000 pods have their condition after 5 s", conditions)
		}
	})
}

// TestSharedExplanationsAge checks that pods of one kind share an explanation only for shareFor. In
// each of four minutes, three pods fail at the same time. The three pods share an explanation if
// their kind is "web". The pods of the next minute need a new one, because a minute is longer than
// shareFor. Pods with the kind "" share no explanation.
func TestSharedExplanationsAge(t *testing.T) {
	for kind, want := range map[string]int32{"": 12, "web": 4} {
		run(t, func(t *testing.T, w *world) {
			w.kindOf = func(*sched.Pod) string { return kind }
			w.explain = func(*sched.Pod) string {
				w.explained.Add(1)
				time.Sleep(100 * time.Millisecond)
				return "no node suits it"
			}
			for i := range 4 {
				for j := range 3 {
					w.Unschedulable(pod(fmt.Sprint(i, j)))
				}
				time.Sleep(time.Minute)
			}
			if n := w.explained.Load(); n != want {
				t.Errorf("kind %q: %d explanations, want %d", kind, n, want)
			}
		})
	}
}

// TestOutdated checks that pods get a new explanation when Outdated is called with their rules
// about nodes (sched.Pod.NodeRules). Pods with other rules, pods with a request that no node can
// fulfil (Reporter.Refused), pods that are being bound, and pods that are gone must get no new
// explanation. If the new explanation of a pod equals the old one, its condition must not be
// written again.
func TestOutdated(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		var why atomic.Value // atomic, because the reporter reads it in another goroutine
		why.Store("2 node(s) were unschedulable")
		w.kindOf = func(p *sched.Pod) string { return p.NodeRules }
		w.explain = func(p *sched.Pod) string { return p.NodeRules + ": " + why.Load().(string) }
		for _, name := range []string{"a", "bound", "gone", "other"} {
			p := pod(name)
			if p.NodeRules = "on a"; name == "other" {
				p.NodeRules = "on c"
			}
			w.Unschedulable(p)
		}
		w.Refused(pod("refused"), errors.New("remove the annotation"))
		time.Sleep(time.Second)
		w.suppress("uid-bound")
		w.Forget("uid-gone")
		for range 2 {
			why.Store("1 node(s) were unschedulable")
			w.Outdated("on a")
			w.Outdated("") // the field NodeRules of the pod "refused" is empty
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		var got []string
		for _, said := range w.written() {
			if strings.HasPrefix(said, "status") {
				got = append(got, said)
			}
		}
		want := []string{
			"status of a: on a: 1 node(s) were unschedulable", "status of a: on a: 2 node(s) were unschedulable",
			"status of bound: on a: 2 node(s) were unschedulable", "status of gone: on a: 2 node(s) were unschedulable",
			"status of other: on c: 2 node(s) were unschedulable", "status of refused: remove the annotation",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkOutdated measures a call of Outdated, while many pods wait.
func BenchmarkOutdated(b *testing.B) {
	for _, n := range []int{1000, 50_000} {
		b.Run(fmt.Sprint("waiting=", n), func(b *testing.B) {
			r := &Reporter{failures: newFailureQueue(), outdated: newOutdated()}
			for i := range n {
				r.Unschedulable(pod(fmt.Sprint(i)))
				f, _ := r.failures.pop()
				r.failures.beginWrite(f)
				r.failures.endWrite(f)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Outdated("")
			}
		})
	}
}
