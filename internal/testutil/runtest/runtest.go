// Package runtest runs parts of programs, such as servers, in the background of tests.
package runtest

import (
	"context"
	"testing"
)

// Run runs a part of a program in the background until the test ends. The test fails if the part
// returns an error. The part is stopped by t.Cleanup, after the functions that the test has passed
// to t.Cleanup later. t.Context would end before all of them.
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
