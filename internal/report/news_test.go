package report

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
)

// TestNews: what waits at the end is written, and what is beyond the backlog is
// dropped.
func TestNews(t *testing.T) {
	var written atomic.Int32
	post := func(context.Context, *eventsv1.Event) error { written.Add(1); return nil }
	n := &news{post: post, host: "host", queue: make(chan scheduled, 3)}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		n.add(scheduled{pod(name), "n1", time.Now()})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n.run(ctx)
	if got := written.Load(); got != 3 {
		t.Errorf("%d events are written, want 3", got)
	}
}
