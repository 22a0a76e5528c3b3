package sched_test

import (
	"slices"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// TestBackoff checks that the delay doubles with each failure until it equals Backoff.Most, and
// then stays the same.
func TestBackoff(t *testing.T) {
	b := sched.Backoff{First: time.Second}.Or(sched.Backoff{First: time.Minute, Most: 5 * time.Second})
	var got []time.Duration
	for _, n := range []int{1, 2, 3, 4, 1000} {
		got = append(got, b.Delay(n))
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("delays %v, want %v", got, want)
	}
	if d := (sched.Backoff{First: time.Minute, Most: time.Second}).Delay(1); d != time.Second {
		t.Errorf("a First beyond Most waits %s, want Most", d)
	}
}
