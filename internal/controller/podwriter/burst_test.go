package podwriter

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// TestBurst checks that 1,000 pods of three kinds that become unschedulable at once have their
// condition within 5 s, where an explanation takes 100 ms.
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

// TestSharedExplanationsAge checks that pods of one kind are explained anew after a while,
// and that pods without a kind share nothing.
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
