package nvml

import (
	"context"
	"time"

	"github.com/numalet/numalet/pkg/gpu/health"
)

// news is an event, or why none can be had.
type news struct {
	event health.Event
	err   error
}

// listen returns what the driver reports until ctx ends, and what is closed when
// no call is under way any more after that.
func listen(ctx context.Context, driver Driver) (_ <-chan news, ended <-chan struct{}) {
	heard, done := make(chan news), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			event, happened, err := driver.Next(eventWait)
			if !happened && err == nil {
				continue
			}
			select {
			case heard <- news{event, err}:
			case <-ctx.Done():
			}
			if err != nil {
				pause(ctx, eventWait)
			}
		}
	}()
	return heard, done
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
