package podwriter

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
)

// TestTurns checks how many of 20 conditions are written at the same time, while pods are being
// bound and afterwards. A write takes an hour of simulated time, so no write ends during the first
// seconds, which the test looks at.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name    string
		binding time.Duration // how long pods are being bound
		first   bool          // whether the conditions are the first ones of their pods
		want    []int64       // writes in progress after 0 s, 1 s, 2 s, …
	}{
		{"no pod is bound", 0, false, []int64{8, 8, 8, 8, 8}},
		{"pods are bound for a while", 1500 * time.Millisecond, false, []int64{1, 1, 8, 8, 8}},
		{"pods are bound all the time", time.Hour, false, []int64{1, 1, 1, 1, 1}},
		{"first conditions", time.Hour, true, []int64{1, 1, 8, 8, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				turns := newTurns(func() bool { return time.Since(began) < c.binding }, newGaps())
				f := failure{}
				if c.first {
					f.first = began
				}
				var writing, done atomic.Int64
				go func() {
					for range 20 {
						over := turns.take(f)
						go func() {
							writing.Add(1)
							time.Sleep(time.Hour)
							writing.Add(-1)
							done.Add(1)
							over()
						}()
					}
				}()
				var got []int64
				for range c.want {
					synctest.Wait()
					got = append(got, writing.Load())
					time.Sleep(time.Second)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("concurrent writes (-want +got):\n%s", diff)
				}
				if time.Sleep(24 * time.Hour); done.Load() != 20 {
					t.Errorf("%d of 20 are written", done.Load())
				}
			})
		})
	}
}

// slowSink counts the events that are written at the same time. A write takes a second of simulated
// time.
type slowSink struct {
	events.EventSink
	writing, most, all atomic.Int64
}

func (s *slowSink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.most.Store(max(s.most.Load(), s.writing.Add(1)))
	defer s.writing.Add(-1)
	time.Sleep(time.Second)
	s.all.Add(1)
	return event, nil
}

var eventResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// seriesSink counts the writes of an event that has occurred again. A write takes a second of
// simulated time. Its first patches end with the errors in `errs`, in this order. If `exists` is
// true, the event cannot be created, because it exists.
type seriesSink struct {
	slowSink
	errs    []error
	exists  bool
	patches int
	count   int32 // of the event that was written last
}

func (s *seriesSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	if s.exists {
		return nil, apierrors.NewAlreadyExists(eventResource, event.Name)
	}
	return s.slowSink.Create(ctx, event)
}

func (s *seriesSink) Patch(_ context.Context, old *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	time.Sleep(time.Second)
	s.count = old.Series.Count
	if s.patches++; s.patches <= len(s.errs) {
		return nil, s.errs[s.patches-1]
	}
	return old, nil
}

// TestPatchesLater checks that Patch returns at once, and that the event is written afterwards. When
// Patch has returned, the test changes the event, as client-go does.
func TestPatchesLater(t *testing.T) {
	lost := errors.New("connection lost")
	gone := apierrors.NewNotFound(eventResource, "a")
	for _, c := range []struct {
		name             string
		errs             []error
		exists           bool
		patches, created int
	}{
		{"written", nil, false, 1, 0},
		{"no answer twice", []error{lost, lost}, false, 3, 0},
		{"never an answer", slices.Repeat([]error{lost}, 20), false, eventTries, 0},
		{"the event is gone", []error{gone}, false, 1, 1},
		{"created meanwhile", []error{gone}, true, 2, 0},
		{"refused", []error{apierrors.NewForbidden(eventResource, "a", nil)}, false, 1, 0},
		{"refused without a reason", []error{&apierrors.StatusError{ErrStatus: metav1.Status{Code: 400}}}, false, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink, began := &seriesSink{errs: c.errs, exists: c.exists}, time.Now()
				event := &eventsv1.Event{Series: &eventsv1.EventSeries{Count: 2}}
				_, err := newSerial(sink, func() bool { return false }, newGaps()).Patch(t.Context(), event, nil)
				if took := time.Since(began); err != nil || took > 0 {
					t.Errorf("Patch returns error %v after %s, want none at once", err, took)
				}
				event.Series.Count++
				time.Sleep(time.Hour)
				synctest.Wait()
				if diff := cmp.Diff([]int{c.patches, c.created, 2}, []int{sink.patches, int(sink.all.Load()), int(sink.count)}); diff != "" {
					t.Errorf("patches, created events, and the count in the last patch (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestEventsOneByOne checks that events of failures are written one at a time, and with pauses
// while pods are being bound.
func TestEventsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, ctx, began := &slowSink{}, t.Context(), time.Now()
		r := &Reporter{broadcaster: events.NewBroadcaster(newSerial(slow, func() bool { return time.Since(began) < 3*time.Second }, newGaps()))}
		if err := r.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			r.recorder(pod(name)).Eventf(podReference("default", name, "uid-"+name), nil, "Warning", "FailedScheduling", "Scheduling", "no room")
		}
		synctest.Wait()
		if time.Sleep(5*time.Second + idleGap/2); slow.all.Load() != 4 {
			t.Errorf("%d of 5 events are written after 5 s, want 4", slow.all.Load())
		}
		time.Sleep(time.Minute)
		if slow.most.Load() != 1 || slow.all.Load() != 5 {
			t.Errorf("%d of 5 events are written, up to %d concurrently, want all one by one", slow.all.Load(), slow.most.Load())
		}
		r.broadcaster.Shutdown()
	})
}
