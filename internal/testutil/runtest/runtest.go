// Package runtest runs parts of programs, such as servers, in the background of tests.
package runtest

import (
	"context"
	"testing"
)

// Run runs a part of a program in the background until the test ends. The test fails if the part
// returns an error. Run passes t.Cleanup a function that stops the part. Package testing calls the
// functions passed to t.Cleanup in reverse order. So if the test passes a function to t.Cleanup
// after it has called Run, the part still runs when this function is called. With t.Context, the
// part would end before any of these functions is called.
func Run(t testing.TB, part interface{ Run(context.Context) error }) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
