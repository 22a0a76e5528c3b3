package podwriter

import (
	"context"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/events"
)

const (
	// conditionWriters is the number of conditions that are written concurrently: after a burst of
	// pods, autoscalers wait for the conditions of all of them. While pods are bound, it is 1, and
	// agedWriters for a condition that has waited for agedAfter: the API server treats conditions and
	// Bindings equally, so conditions of pods that wait delay Bindings of pods that can run.
	conditionWriters = 8
	agedWriters      = 2
	agedAfter        = 4 * time.Second
)

// turns limits how many conditions are written concurrently. Only one goroutine may take turns.
type turns struct {
	taken, over chan struct{}
	binding     func() bool // reports whether pods are being bound now
}

func newTurns(binding func() bool) *turns {
	return &turns{taken: make(chan struct{}, conditionWriters), over: make(chan struct{}, 1), binding: binding}
}

// take waits for a turn to write a condition that has waited since a time. The caller must call done
// after the write.
func (t *turns) take(since time.Time) (done func()) {
	for len(t.taken) >= t.limit(since) {
		select {
		case <-t.over:
		case <-time.After(idleGap):
		}
	}
	t.taken <- struct{}{}
	return func() {
		<-t.taken
		signal(t.over)
	}
}

func (t *turns) limit(since time.Time) int {
	switch {
	case !t.binding():
		return conditionWriters
	case time.Since(since) < agedAfter:
		return 1
	}
	return agedWriters
}

// serial writes events of failures one at a time, and rests after each one while pods are bound.
// client-go writes each from a goroutine of its own. If thousands of pods wait, so many concurrent
// requests would delay Bindings by seconds.
type serial struct {
	events.EventSink
	turn    chan struct{}
	binding func() bool
}

func newSerial(to events.EventSink, binding func() bool) *serial {
	return &serial{to, make(chan struct{}, 1), binding}
}

// Create creates an event.
func (s *serial) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.turn <- struct{}{}
	defer s.done(ctx)
	return s.EventSink.Create(ctx, event)
}

// Patch updates the count of an event.
func (s *serial) Patch(ctx context.Context, old *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	s.turn <- struct{}{}
	defer s.done(ctx)
	return s.EventSink.Patch(ctx, old, data)
}

func (s *serial) done(ctx context.Context) {
	if s.binding() {
		pause(ctx, idleGap)
	}
	<-s.turn
}
