package cgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"

	"github.com/numalet/numalet/pkg/cpuset"
)

// queue is a fake systemd that handles one call after another. The field `each` is how long a call
// takes. The field `units` has the units in the order in which it has handled them.
type queue struct {
	each  time.Duration
	busy  chan struct{} // has an element while systemd handles a call
	bad   string        // the beginning of the names of units that systemd refuses to change
	units []string
}

func newQueue(each time.Duration) *queue { return &queue{each: each, busy: make(chan struct{}, 1)} }

func (q *queue) handle(ctx context.Context, unit string) error {
	select {
	case q.busy <- struct{}{}:
		defer func() { <-q.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-time.After(q.each):
	case <-ctx.Done():
		return ctx.Err()
	}
	if q.bad != "" && strings.HasPrefix(unit, q.bad) {
		return errors.New("refused")
	}
	q.units = append(q.units, unit)
	return nil
}

func (q *queue) SetUnitPropertiesContext(ctx context.Context, name string, _ bool, _ ...systemd.Property) error {
	return q.handle(ctx, name)
}

func (q *queue) SystemStateContext(ctx context.Context) (*systemd.Property, error) {
	return &systemd.Property{}, q.handle(ctx, "last request of a round")
}

// newBacklog returns a units value with 500 pending requests, and the fake systemd to which it
// sends them. The fake systemd takes 50 ms for each call.
func newBacklog() (*units, *queue) {
	q := newQueue(50 * time.Millisecond)
	u := newUnits(q)
	for i := range 500 {
		u.require(fmt.Sprintf("%d.scope", i), noQuota())
	}
	return u, q
}

// retryAll calls the method `retry` with a deadline of 5 s, as the agent does, until no further
// call is requested (u.soon).
func retryAll(t *testing.T, u *units) (rounds int) {
	for u.persistLater(); len(u.soon) > 0; rounds++ {
		<-u.soon
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if err := u.retry(ctx); err != nil {
			t.Errorf("retry = %v after %d rounds", err, rounds)
		}
		cancel()
		if err := u.ready(); err != nil {
			t.Errorf("ready = %v after %d rounds", err, rounds)
		}
	}
	return rounds
}

// TestRetryOfManyUnits checks that systemd gets all 500 pending requests. systemd needs 25 s to
// answer all of them, but each call of the method `retry` has a deadline of 5 s. After each call,
// the method `ready` must return nil.
func TestRetryOfManyUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, q := newBacklog()
		rounds := retryAll(t, u)
		if sent := len(q.units) - rounds; sent != 500 || len(u.mu.desired) > 0 {
			t.Errorf("%d units sent in %d rounds, %d still pending, want 500 sent", sent, rounds, len(u.mu.desired))
		}
	})
}

// TestHookGetsItsTurn checks that an NRI hook that calls `persist` gets its turn within 2 s, while
// the agent sends many requests to systemd with the method `retry`.
func TestHookGetsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _ := newBacklog()
		done := make(chan struct{})
		go func() {
			defer close(done)
			retryAll(t, u)
		}()
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		start := time.Now()
		u.turn <- struct{}{}
		if waited := time.Since(start); waited > 2*time.Second {
			t.Errorf("the hook got its turn after %v, want at most 2 s", waited)
		}
		<-u.turn
		<-done
	})
}

// TestNewRequestsComeFirst checks that the request for a new unit does not wait for a long list of
// older requests.
func TestNewRequestsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, q := newBacklog()
		if err := u.retry(t.Context()); err != nil {
			t.Fatal(err)
		}
		u.require("sandbox.scope", allowed(cpuset.Of(1), cpuset.Set{}))
		before := len(q.units)
		if err := u.retry(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(q.units[before:], "sandbox.scope") {
			t.Errorf("the round after the request for sandbox.scope sent %v", q.units[before:])
		}
	})
}

// TestRefusedRequestsComeLast checks that requests that systemd refuses do not keep other requests
// waiting.
func TestRefusedRequestsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, q := newBacklog()
		q.bad = "bad"
		for i := range maxRound {
			u.require(fmt.Sprintf("bad%d.scope", i), noQuota())
		}
		refused := 0
		for range 1 + 500/maxRound + 1 {
			if u.retry(t.Context()) != nil {
				refused++
			}
		}
		if len(u.mu.desired) != maxRound || refused == 0 {
			t.Errorf("%d requests pending, %d calls of retry failed, want only the %d refused ones pending", len(u.mu.desired), refused, maxRound)
		}
	})
}

// TestLateForTheHookIsReady checks whether systemd counts as ready after it has answered too few
// requests before the deadline of a hook. If it has answered some, it is ready. If it has answered
// none, it is not ready.
func TestLateForTheHookIsReady(t *testing.T) {
	for name, tc := range map[string]struct {
		each  time.Duration
		ready bool
	}{
		"slow":   {50 * time.Millisecond, true},
		"silent": {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, q := newBacklog()
				q.each = tc.each
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				if err := u.persist(ctx); err == nil {
					t.Error("persist hid that it was late")
				}
				if err := u.ready(); (err == nil) != tc.ready {
					t.Errorf("ready = %v, want ready: %v", err, tc.ready)
				}
			})
		})
	}
}

// TestNoTimeForTheHookSaysNothing checks an NRI hook that waited for its turn until almost no time
// was left before its deadline. If systemd does not answer in this short time, that must not change
// whether systemd counts as ready.
func TestNoTimeForTheHookSaysNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		left time.Duration // the time between the hook's turn and its deadline
		was  error         // what the method `ready` returns before
		want bool          // whether systemd counts as ready after the hook
	}{
		"little time, ready before":     {10 * time.Millisecond, nil, true},
		"little time, not ready before": {10 * time.Millisecond, errors.New("no bus"), false},
		"enough time":                   {answerTime, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, q := newBacklog()
				q.each = time.Hour
				u.setReady(tc.was)
				const waits = 1500 * time.Millisecond
				u.turn <- struct{}{}
				time.AfterFunc(waits, func() { <-u.turn })
				ctx, cancel := context.WithTimeout(t.Context(), waits+tc.left)
				defer cancel()
				if err := u.persist(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("persist = %v, want the deadline", err)
				}
				if err := u.ready(); (err == nil) != tc.want {
					t.Errorf("ready = %v, want ready: %v", err, tc.want)
				}
			})
		})
	}
}
