// Package runtest runs parts of programs, such as servers, in the background of tests.
package runtest

import (
	"context"
	"testing"
)

// Run runs a part of a program in the background until the test ends. The test fails if the part
// returns an error. Run passes t.Cleanup a function that stops the part. Package testing calls such
// functions in reverse order, so the part still runs during those that the test passes to t.Cleanup
// after the call of Run. t.Context would end before any of these functions runs.
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
