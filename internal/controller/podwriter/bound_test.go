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
)

// TestBoundEvents checks that events are dropped if the queue is full, and that waiting events are
// written when the context of run is canceled.
func TestBoundEvents(t *testing.T) {
	var written atomic.Int32
	b := boundEventsWith(t, func(context.Context, *eventsv1.Event) error { written.Add(1); return nil })
	b.queue = make(chan boundPod, 3)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		b.add(newBoundPod(pod(name), "n1", time.Now()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.run(ctx)
	if got := written.Load(); got != 3 {
		t.Errorf("%d events are written, want 3", got)
	}
}

// boundEventsWith returns boundEvents that write events by calling the function given as `create`.
func boundEventsWith(t *testing.T, create func(context.Context, *eventsv1.Event) error) *boundEvents {
	t.Helper()
	b, err := newBoundEvents(create)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// slowEvents is boundEvents with an API server that takes 2 ms for each event. It counts how many
// events are written at the same time.
type slowEvents struct {
	*boundEvents
	under, most, written atomic.Int32
}

func newSlowEvents(t *testing.T) *slowEvents {
	t.Helper()
	s := &slowEvents{}
	s.boundEvents = boundEventsWith(t, func(context.Context, *eventsv1.Event) error {
		s.most.Store(max(s.most.Load(), s.under.Add(1)))
		time.Sleep(2 * time.Millisecond)
		s.written.Add(1)
		s.under.Add(-1)
		return nil
	})
	return s
}

// bind binds pods, four in each millisecond of simulated time.
func (s *slowEvents) bind(pods int) {
	for range pods {
		s.add(newBoundPod(pod("a"), "n1", time.Now()))
		time.Sleep(time.Millisecond / 4)
	}
}

// mostIn returns the largest number of events that are written at the same time during a period of
// length d from now.
func (s *slowEvents) mostIn(d time.Duration) int32 {
	s.most.Store(0)
	time.Sleep(d)
	return s.most.Load()
}

// TestIdleGap checks that events are written one at a time while pods are being bound. When no pod
// was bound for idleGap, many events must be written at the same time, until the queue is empty or
// pods are bound again.
func TestIdleGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowEvents(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go s.run(ctx)
		var got []int32
		s.bind(2000)
		got = append(got, s.mostIn(idleGap-time.Millisecond), s.mostIn(2*idleGap))
		s.bind(100) // takes 25 ms; meanwhile each extra writer finishes its current write, which takes 2 ms, and then stops
		got = append(got, s.mostIn(idleGap-time.Millisecond), s.mostIn(10*idleGap), s.mostIn(idleGap))
		if diff := cmp.Diff([]int32{1, 1 + extraWriters, 1, 1 + extraWriters, 0}, got); diff != "" {
			t.Errorf("events written at a time before the gap, in it, after more binds, in the next gap and at the end (-want +got):\n%s", diff)
		}
		if got := s.written.Load(); got != 2100 {
			t.Errorf("%d events are written, want 2100", got)
		}
	})
}

// TestHalfFull checks that no events are lost if pods are bound without a pause. For this, several
// events must be written at the same time once the queue is half full.
func TestHalfFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowEvents(t)
		s.queue = make(chan boundPod, 400)
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go s.run(ctx)
		s.bind(200)
		before := s.most.Load()
		s.bind(4000)
		if got := s.most.Load(); before != 1 || got == 1 {
			t.Errorf("%d events are written at a time at first and %d later, want 1 and more", before, got)
		}
		time.Sleep(time.Minute)
		if got := s.written.Load(); got != 4200 {
			t.Errorf("%d events are written, want 4200", got)
		}
	})
}

// TestEnd checks that several goroutines write the waiting events at the same time when the process
// ends. One goroutine alone would need longer than 300 ms.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowEvents(t)
		s.bind(2000)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		s.run(ctx)
		if took := time.Since(began); s.written.Load() != 2000 || took > 300*time.Millisecond {
			t.Errorf("%d of 2000 events are written in %v, want all in 300ms", s.written.Load(), took)
		}
	})
}

// TestClockSetBack checks that a Binding before the system clock was set back does not count as a
// Binding that was just now.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := boundEventsWith(t, func(context.Context, *eventsv1.Event) error { return nil })
		b.add(newBoundPod(pod("a"), "n1", time.Now().Add(time.Hour).Round(0))) // Round(0) drops the reading of the monotonic clock
		if !b.binding() {
			t.Error("a pod was just bound, but does not count")
		}
		time.Sleep(idleGap)
		if b.binding() {
			t.Error("a pod still counts as just bound")
		}
	})
}

// TestOrder checks that one goroutine writes events in the order in which the pods were bound.
func TestOrder(t *testing.T) {
	var want, got []string
	b := boundEventsWith(t, func(_ context.Context, e *eventsv1.Event) error {
		got = append(got, e.Regarding.Name)
		return nil
	})
	for i := range longQueue + 1 {
		b.add(newBoundPod(pod(fmt.Sprint(i)), "n1", time.Now()))
		want = append(want, fmt.Sprint(i))
	}
	b.drain(t.Context(), func() bool { return true })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// TestEventName checks that event names equal those of client-go, and that they are valid even for
// a pod with a very long name.
func TestEventName(t *testing.T) {
	now := time.Now()
	for _, n := range []int{1, 9, 200, 236, 237, 253} {
		s := boundPod{name: strings.Repeat("a", n), at: now}
		got := s.eventName()
		if want := recordutil.GenerateEventName(s.name, now.UnixNano()); n < 237 && got != want {
			t.Errorf("event of a pod with a name of %d letters: %q, want %q", n, got, want)
		}
		if wrong := validation.IsDNS1123Subdomain(got); wrong != nil {
			t.Errorf("event of a pod with a name of %d letters: %q: %v", n, got, wrong)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	e, p := &boundEvents{host: "host"}, boundPod{namespace: "perf", name: "pod-00042", uid: "6f3ad70e", node: "node-00042", at: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		e.event(p)
	}
}
