package report

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
)

// TestNews: what waits at the end is written, and what is beyond the backlog is
// dropped.
func TestNews(t *testing.T) {
	client := fake.NewClientset()
	n := &news{client: client, host: "host", queue: make(chan scheduled, 3)}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		n.add(scheduled{pod(name), "n1", time.Now()})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n.run(ctx)
	if got := len(client.Actions()); got != 3 {
		t.Errorf("%d events are written, want 3", got)
	}
}
