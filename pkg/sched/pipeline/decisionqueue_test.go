package pipeline

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// number returns the number of containers in a decision, which is the argument of the function
// `decision` that made it.
func number(decision sched.Decision) int { return len(decision.At.Containers) }

func decision(i int) sched.Decision {
	return sched.Decision{At: sched.Placement{Containers: make([]podspec.Container, i)}}
}

// TestBatches checks the method `put`: if the queue is full, `put` must wait until half of the
// queue is free. If the queue is not full, `put` must not wait.
func TestBatches(t *testing.T) {
	for _, tc := range []struct{ size, goes int }{{1, 1}, {2, 1}, {3, 2}, {8, 4}} {
		synctest.Test(t, func(t *testing.T) {
			l := newDecisionQueue(tc.size)
			for i := range tc.size {
				l.put(decision(i))
			}
			var entered atomic.Bool
			go func() { l.put(decision(tc.size)); entered.Store(true) }()
			for gone := range tc.goes {
				synctest.Wait()
				if entered.Load() {
					t.Fatalf("of %d, %d have gone and one more is taken", tc.size, gone)
				}
				if d, ok := l.take(); !ok || number(d) != gone {
					t.Fatalf("take = %d, %t, want %d", number(d), ok, gone)
				}
			}
			if synctest.Wait(); !entered.Load() {
				t.Fatalf("of %d, %d have gone and no more are taken", tc.size, tc.goes)
			}
		})
	}
}

// TestDecisionQueue checks that the method `take` returns each decision once, that a single reader
// gets the decisions in order, and that all readers end after a call of the method `close`.
func TestDecisionQueue(t *testing.T) {
	for _, takers := range []int{1, 7} {
		l, seen := newDecisionQueue(5), make([]atomic.Int32, 1000)
		var all sync.WaitGroup
		for range takers {
			all.Go(func() {
				last := -1
				for d, ok := l.take(); ok; d, ok = l.take() {
					if seen[number(d)].Add(1) > 1 || number(d) <= last {
						t.Errorf("%d comes after %d, for the %dth time", number(d), last, seen[number(d)].Load())
					}
					last = number(d)
				}
			})
		}
		for i := range seen {
			l.put(decision(i))
		}
		l.close()
		all.Wait()
		for i := range seen {
			if seen[i].Load() != 1 {
				t.Fatalf("%d came %d times", i, seen[i].Load())
			}
		}
	}
}
