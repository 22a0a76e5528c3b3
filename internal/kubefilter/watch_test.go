package kubefilter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTwice: each change is told at once, and what came within a second once more.
func TestTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var told []time.Duration
		changed := twice(func() { told = append(told, time.Since(start)) })
		for _, pause := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second} {
			time.Sleep(pause)
			synctest.Wait()
			changed()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want := []time.Duration{0, 300 * time.Millisecond, time.Second, 2300 * time.Millisecond, 3300 * time.Millisecond}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("told at (-want +got):\n%s", diff)
		}
	})
}
