package podwriter

import (
	"context"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/events"
)

const (
	// conditionWriters is the number of conditions that are written concurrently: after a burst of
	// pods, autoscalers wait for the conditions of all of them.
	conditionWriters = 8
	// patience is how long a condition waits at most while pods are bound. The API server treats
	// conditions and Bindings equally, so conditions of pods that wait delay Bindings of pods that can
	// run. One writer goes on meanwhile.
	patience = 3 * time.Second
)

// turns limits how many conditions are written concurrently: one while pods are bound, unless it has
// waited for patience, and otherwise conditionWriters.
type turns struct {
	one, others chan struct{} // an element is a turn that is taken
	binding     func() bool   // reports whether pods are being bound now
}

func newTurns(binding func() bool) *turns {
	return &turns{one: make(chan struct{}, 1), others: make(chan struct{}, conditionWriters-1), binding: binding}
}

// take waits for a turn to write a condition that has waited since a time. The caller must call done
// after the write.
func (t *turns) take(since time.Time) (done func()) {
	for {
		others := t.others
		if t.binding() && time.Since(since) < patience {
			others = nil
		}
		select {
		case t.one <- struct{}{}:
			return func() { <-t.one }
		case others <- struct{}{}:
			return func() { <-t.others }
		case <-time.After(idleGap):
		}
	}
}

// serial writes events of failures one at a time. client-go writes each from a goroutine of its own.
// If thousands of pods wait, so many concurrent requests would delay Bindings by seconds.
type serial struct {
	events.EventSink
	turn chan struct{}
}

func newSerial(to events.EventSink) *serial { return &serial{to, make(chan struct{}, 1)} }

// Create creates an event.
func (s *serial) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.EventSink.Create(ctx, event)
}

// Patch updates the count of an event.
func (s *serial) Patch(ctx context.Context, old *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.EventSink.Patch(ctx, old, data)
}
