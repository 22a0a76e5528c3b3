package queue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// world is the environment of the queue. The field `freedSeq` has the value that Env.FreedSeq
// returns: how often resources were released. The clock is that of package synctest.
type world struct{ freedSeq uint64 }

func (w *world) queue() *queue.Queue {
	return queue.New(queue.Env{
		Now: time.Now, FreedSeq: func() uint64 { return w.freedSeq },
		After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}, queue.Options{Backoff: sched.Backoff{First: time.Second, Most: 4 * time.Second}})
}

func pod(uid string) *sched.Pod { return &sched.Pod{UID: uid, Name: uid} }

func entry(uid string) queue.Entry { return queue.Entry{Pod: pod(uid)} }

// next calls Next and returns its pod. If Next would have to wait for a pod, next returns a pod
// with the name "none".
func next(t *testing.T, q *queue.Queue) *sched.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	p, err := q.Next(ctx)
	if err != nil {
		return pod("none")
	}
	return p
}

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		now := time.Now()
		for _, e := range []queue.Entry{
			{Pod: pod("young"), Created: now.Add(time.Second)}, {Pod: pod("b"), Created: now}, {Pod: pod("a"), Created: now},
			{Pod: pod("important"), Priority: 7, Created: now.Add(time.Minute)}, {Pod: pod("gone"), Priority: 9},
		} {
			q.Add(e)
		}
		q.Remove("gone")
		var got []string
		for range 5 {
			got = append(got, next(t, q).UID)
		}
		if diff := cmp.Diff([]string{"important", "a", "b", "young", "none"}, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestBackoffDoublesToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		q.Add(entry("a"))
		start := time.Now()
		var got []time.Duration
		for range 5 {
			p, err := q.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Since(start).Truncate(time.Millisecond))
			q.Requeue(p, sched.Reason{})
		}
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 11 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tried at (-want +got):\n%s", diff)
		}
	})
}

func TestUnschedulableWaitForWhatHelps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{freedSeq: 5}
		q := w.queue()
		q.Add(entry("a"))
		q.Add(entry("b"))
		q.MarkUnschedulable(next(t, q), 5)
		q.MarkUnschedulable(next(t, q), 5)
		time.Sleep(time.Hour)
		if got := next(t, q).UID; got != "none" {
			t.Fatalf("%s came back though nothing changed", got)
		}
		q.RetryPod("b")
		if got := next(t, q).UID; got != "b" {
			t.Errorf("woken: %s, want b", got)
		}
		if diff := cmp.Diff(queue.Depth{queue.InFlight: 1, queue.Unschedulable: 1}, q.Depth(), cmp.Comparer(sameDepth)); diff != "" {
			t.Errorf("depth (-want +got):\n%s", diff)
		}
	})
}

func sameDepth(a, b queue.Depth) bool {
	for _, s := range queue.States() {
		if a[s] != b[s] {
			return false
		}
	}
	return true
}

// TestUnschedulableTooLate checks that a pod that fitted no node is retried at once if
// resources became free during the attempt.
func TestUnschedulableTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{freedSeq: 6}
		q := w.queue()
		q.Add(entry("a"))
		q.MarkUnschedulable(next(t, q), 5)
		if got := next(t, q).UID; got != "a" {
			t.Errorf("Next = %s, want a at once", got)
		}
	})
}

// TestLost checks that the back-off of a pod whose nodes were taken by other pods starts with
// the shortest delay, even if no node fitted the pod in many attempts before.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		q.Add(entry("a"))
		for range 5 {
			q.MarkUnschedulable(next(t, q), 0)
			q.Freed(&sched.Node{})
			time.Sleep(time.Second)
		}
		start := time.Now()
		q.Requeue(next(t, q), sched.Reason{})
		if _, err := q.Next(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("Next: %v after %v, want the first back-off", err, time.Since(start))
		}
	})
}

// TestMaxFailedRetries checks a change that may help 100 pods: at most maxFailedRetries of them
// may be retried before their back-off ends.
func TestMaxFailedRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		for i := range 100 {
			q.Add(entry(fmt.Sprint(i)))
		}
		try := func() (tries int) {
			for p := next(t, q); p.UID != "none"; p = next(t, q) {
				q.MarkUnschedulable(p, 0)
				tries++
			}
			return tries
		}
		got := []int{try()}
		for range 3 {
			q.Freed(&sched.Node{})
			got = append(got, try())
		}
		time.Sleep(time.Minute)
		got = append(got, try())
		if diff := cmp.Diff([]int{100, 32, 32, 32, 68}, got); diff != "" {
			t.Errorf("tries at first, after three changes, and when all back-offs are over (-want +got):\n%s", diff)
		}
	})
}

// TestEarlyRetry checks that Next returns unschedulable pods before their back-off ends if a
// change in the cluster may help them and no other pod is active. But a pod that backs off
// because other pods took its nodes must wait for the end of its back-off.
func TestEarlyRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		for _, uid := range []string{"a", "b", "c", "lost"} {
			e := entry(uid)
			if uid == "b" {
				e.Pod.Candidates = []string{"another"}
			}
			q.Add(e)
		}
		for range 3 {
			q.MarkUnschedulable(next(t, q), 0)
		}
		q.Requeue(next(t, q), sched.Reason{})
		q.Freed(&sched.Node{Name: "n"})
		q.Add(entry("new"))
		var got []string
		for range 4 {
			got = append(got, next(t, q).UID)
		}
		if diff := cmp.Diff([]string{"new", "a", "c", "none"}, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		time.Sleep(time.Second)
		if got := next(t, q).UID; got != "lost" {
			t.Errorf("Next = %s after the back-off, want lost", got)
		}
	})
}

// TestNotify checks that Notify retries exactly the pods that have one of the given topics and
// for which the given function returns true. A pod that is in flight when Notify is called must
// be retried too, if its attempt then fails.
func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		across := entry("across")
		across.Pod.Across, across.Pod.Topics = true, []sched.Topic{{Key: "app", Value: "web"}, {Key: "volumes"}}
		for _, e := range []queue.Entry{across, entry("local")} {
			q.Add(e)
			q.MarkUnschedulable(next(t, q), 0)
		}
		q.Notify([]sched.Topic{{Key: "app", Value: "db"}}, nil)
		q.Notify([]sched.Topic{{Key: "volumes"}}, func(pod *sched.Pod) bool { return pod != across.Pod })
		time.Sleep(time.Minute)
		if got := next(t, q).UID; got != "none" {
			t.Errorf("next is %s before anything helps", got)
		}
		q.Notify([]sched.Topic{{Key: "app", Value: "web"}}, nil)
		time.Sleep(time.Second)
		if got := next(t, q).UID; got != "across" {
			t.Errorf("next is %s", got)
		}
		q.Notify([]sched.Topic{{Key: "volumes"}}, nil)
		q.MarkUnschedulable(across.Pod, 0)
		time.Sleep(time.Minute)
		if got := next(t, q).UID; got != "across" {
			t.Errorf("reactivated while it was in flight, and next is %s", got)
		}
		q.MarkUnschedulable(across.Pod, 0)
		time.Sleep(time.Minute)
		if got := q.Depth()[queue.Unschedulable]; got != 2 {
			t.Errorf("%d unschedulable, want both", got)
		}
	})
}

// TestRetryOverdue checks that RetryOverdue retries pods only after the given time, and that
// each call retries at most the given number of pods.
func TestRetryOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		for i := range 10 {
			q.Add(entry(fmt.Sprint(i)))
			q.MarkUnschedulable(next(t, q), 0)
		}
		time.Sleep(time.Minute - 1)
		var got []int
		for range 3 {
			q.RetryOverdue(time.Minute, 6)
			got = append(got, q.Depth()[queue.Active])
			time.Sleep(time.Nanosecond)
		}
		if diff := cmp.Diff([]int{0, 6, 10}, got); diff != "" {
			t.Errorf("active (-want +got):\n%s", diff)
		}
	})
}

// TestChanged checks that a pod whose request changes is tried again at once. If an attempt
// with the old request is in progress, the pod is tried again as soon as that attempt fails.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		q.Add(entry("a"))
		old := next(t, q)
		q.MarkUnschedulable(old, 0)
		changed := entry("a")
		q.Add(changed)
		if got := next(t, q); got != changed.Pod {
			t.Fatal("the unschedulable pod that changed was not tried at once")
		}
		again := entry("a")
		q.Add(again)
		q.MarkUnschedulable(changed.Pod, 0)
		if p, err := q.Next(t.Context()); err != nil || p != again.Pod {
			t.Errorf("Next = %v, %v, want what the pod asks now", p, err)
		}
	})
}

// TestRemovedStaysRemoved checks that a pod that is bound or removed during an attempt does not
// return to the queue when the attempt fails.
func TestRemovedStaysRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		for _, back := range []func(*sched.Pod){func(pod *sched.Pod) { q.Requeue(pod, sched.Reason{}) }, func(pod *sched.Pod) { q.MarkUnschedulable(pod, 0) }} {
			q.Add(entry("a"))
			p := next(t, q)
			if _, ok := q.Waited("a"); !ok {
				t.Error("a pod in flight is not pending")
			}
			q.Remove("a")
			back(p)
			time.Sleep(time.Hour)
			if got := next(t, q).UID; got != "none" {
				t.Errorf("%s came back", got)
			}
		}
		if _, ok := q.Waited("a"); ok || q.Depth()[queue.InFlight] != 0 {
			t.Errorf("something is left: %v", q.Depth())
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := (&world{}).queue()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := q.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Next: %v, want context.Canceled", err)
		}
	})
}
