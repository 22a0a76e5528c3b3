package podwriter

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	recordutil "k8s.io/client-go/tools/record/util"

	"github.com/numalet/numalet/pkg/sched"
)

// TestBoundEvents checks that waiting events are written at the end, and that events are
// dropped if the queue is full.
func TestBoundEvents(t *testing.T) {
	var written atomic.Int32
	b := boundEventsWith(t, func(context.Context, *eventsv1.Event) error { written.Add(1); return nil })
	b.queue = make(chan boundPod, 3)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		b.add(boundPod{pod(name), "n1", time.Now()})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.run(ctx)
	if got := written.Load(); got != 3 {
		t.Errorf("%d events are written, want 3", got)
	}
}

// boundEventsWith returns boundEvents that write with a function.
func boundEventsWith(t *testing.T, create func(context.Context, *eventsv1.Event) error) *boundEvents {
	t.Helper()
	b, err := newBoundEvents(create)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestIdleGap checks that few events are written concurrently while pods are being bound,
// and more in a gap, until all are written or more pods are bound.
func TestIdleGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most, written atomic.Int32
		b := boundEventsWith(t, func(context.Context, *eventsv1.Event) error {
			most.Store(max(most.Load(), under.Add(1)))
			time.Sleep(2 * time.Millisecond)
			written.Add(1)
			under.Add(-1)
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go b.run(ctx)
		binds := func(count int) {
			for range count {
				b.add(boundPod{pod("a"), "n1", time.Now()})
				time.Sleep(time.Millisecond / 4)
			}
		}
		var got []int32
		pass := func(d time.Duration) {
			most.Store(0)
			time.Sleep(d)
			got = append(got, most.Load())
		}
		binds(2000)
		pass(idleGap - time.Millisecond)
		pass(2 * idleGap)
		binds(100) // binding takes longer than the writes in flight
		pass(idleGap - time.Millisecond)
		pass(10 * idleGap)
		pass(idleGap)
		if diff := cmp.Diff([]int32{writers, writers + idleWriters, writers, writers + idleWriters, 0}, got); diff != "" {
			t.Errorf("events written at a time before the gap, in it, after more binds, in the next gap and at the end (-want +got):\n%s", diff)
		}
		if got := written.Load(); got != 2100 {
			t.Errorf("%d events are written, want 2100", got)
		}
	})
}

// TestOrder checks that events are written in the order of the bindings.
func TestOrder(t *testing.T) {
	var want, got []string
	b := boundEventsWith(t, func(_ context.Context, e *eventsv1.Event) error {
		got = append(got, e.Regarding.Name)
		return nil
	})
	for i := range longQueue + 1 {
		b.add(boundPod{pod(fmt.Sprint(i)), "n1", time.Now()})
		want = append(want, fmt.Sprint(i))
	}
	b.drain(t.Context(), func() bool { return true })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// TestEventName checks that names are the same as client-go's, and valid even if the pod's
// name is long.
func TestEventName(t *testing.T) {
	now := time.Now()
	for _, n := range []int{1, 9, 200, 236, 237, 253} {
		s := boundPod{pod: &sched.Pod{Name: strings.Repeat("a", n)}, at: now}
		got := s.eventName()
		if want := recordutil.GenerateEventName(s.pod.Name, now.UnixNano()); n < 237 && got != want {
			t.Errorf("event of a pod with a name of %d letters: %q, want %q", n, got, want)
		}
		if wrong := validation.IsDNS1123Subdomain(got); wrong != nil {
			t.Errorf("event of a pod with a name of %d letters: %q: %v", n, got, wrong)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	e, p := &boundEvents{host: "host"}, boundPod{&sched.Pod{Namespace: "perf", Name: "pod-00042", UID: "6f3ad70e"}, "node-00042", time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		e.event(p)
	}
}
