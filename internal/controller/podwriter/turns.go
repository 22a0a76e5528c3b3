package podwriter

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
)

const (
	// conditionWriters is the largest number of conditions of unschedulable pods that are written
	// at the same time. It is more than one because cluster autoscalers wait for the conditions of
	// all pods of a burst. While pods are being bound, only one condition is written at a time, if
	// possible in a gap between Bindings (see gaps.wait). The API server handles conditions and
	// Bindings with equal priority, so more conditions would delay Bindings.
	conditionWriters = 8
	// hangsAfter is how long a write may take before it counts as hanging. Another write may then
	// begin as if the hanging one had ended. The timeout of a write limits how many writes hang at
	// the same time: with 5 s, the default of --bind-timeout, at most 40 writes hang.
	hangsAfter = time.Second
	// patience limits how long the first condition of an unschedulable pod yields to Bindings.
	// Cluster autoscalers add nodes only for pods with this condition. So after this time, it is
	// written as if no pod were being bound. Later conditions of the pod always yield, because only
	// their messages differ from the first. With a patience of 2 s, 1,000 pods that become
	// unschedulable together have their conditions within 5 s, if no patch takes longer than 24 ms.
	// After the patience, the 1,000 patches take at most 3 s, because conditionWriters of them run
	// at the same time.
	patience = 2 * time.Second
	// The count of an event is tried at most eventTries times, with pauses of at least eventRetry.
	// client-go has the same values for new events.
	eventTries = 12
	eventRetry = 10 * time.Second
)

// turns limits how many conditions are written at the same time. Only one goroutine may call
// `take`.
type turns struct {
	taken, over chan struct{}
	binding     func() bool // reports whether pods are being bound
	gaps        *gaps
}

func newTurns(binding func() bool, g *gaps) *turns {
	return &turns{taken: make(chan struct{}, conditionWriters), over: make(chan struct{}, 1), binding: binding, gaps: g}
}

// take waits until the condition of a failure may be written. The caller must call the returned
// function after the write, or when the write hangs. Later calls of it have no effect.
func (t *turns) take(f failure) (done func()) {
	for len(t.taken) >= t.limit(f) {
		select {
		case <-t.over:
		case <-time.After(idleGap):
		}
	}
	if !f.overdue() {
		t.gaps.wait()
	}
	t.taken <- struct{}{}
	return sync.OnceFunc(func() {
		<-t.taken
		signal(t.over)
	})
}

// limit returns how many conditions may be written at the same time if the next one is that of the
// failure f.
func (t *turns) limit(f failure) int {
	if t.binding() && !f.overdue() {
		return 1
	}
	return conditionWriters
}

// serial writes events of failures one at a time, if possible in gaps between Bindings (see
// gaps.wait). While pods are being bound, it pauses for idleGap after each event, so that events
// delay only a few Bindings. Without serial, client-go would write each event from its own
// goroutine. If thousands of pods wait, so many concurrent requests would delay Bindings by
// seconds.
type serial struct {
	events.EventSink
	turn    chan struct{}
	binding func() bool
	gaps    *gaps
}

func newSerial(to events.EventSink, binding func() bool, g *gaps) *serial {
	return &serial{to, make(chan struct{}, 1), binding, g}
}

// Create creates an event. It first waits until no other event is being written.
func (s *serial) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.turn <- struct{}{}
	defer s.done(ctx)
	s.gaps.wait()
	return s.EventSink.Create(ctx, event)
}

// Patch updates the count of an event that has occurred again. It returns at once, and updates the
// event later. client-go's broadcaster holds a mutex while it calls Patch, to refresh the counts of
// all events and to write their last ones. If Patch waited for its turn, all other events would wait
// for the mutex. Like client-go, Patch creates an event that does not exist, and tries again if there
// was no answer or if the event has been created meanwhile. Two counts of one event may be written in
// the wrong order if the first one is tried for minutes.
func (s *serial) Patch(ctx context.Context, old *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	event := old.DeepCopy() // client-go changes the event after Patch has returned
	backoff := wait.Backoff{Duration: eventRetry, Jitter: 0.25, Steps: eventTries}
	go func() {
		var last error
		_ = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (done bool, _ error) {
			last = s.patch(ctx, event, data)
			if apierrors.IsNotFound(last) {
				event.ResourceVersion = ""
				_, last = s.Create(ctx, event)
			}
			return !apierrors.IsAlreadyExists(last) && !unanswered(last), nil
		})
		if last != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(last, "the count of an event is not written", "event", event.Name, "pod", event.Regarding.Namespace+"/"+event.Regarding.Name)
		}
	}()
	return nil, nil
}

// unanswered reports whether an error of a request is not an answer of the API server, and is no
// error of the request itself, which another try would repeat.
func unanswered(err error) bool {
	var answer apierrors.APIStatus
	var invalid *rest.RequestConstructionError
	return err != nil && !errors.As(err, &answer) && !errors.As(err, &invalid)
}

func (s *serial) patch(ctx context.Context, old *eventsv1.Event, data []byte) error {
	s.turn <- struct{}{}
	defer s.done(ctx)
	s.gaps.wait()
	_, err := s.EventSink.Patch(ctx, old, data)
	return err
}

func (s *serial) done(ctx context.Context) {
	if s.binding() {
		pause(ctx, idleGap)
	}
	<-s.turn
}
