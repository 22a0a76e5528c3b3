package cgroup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
)

// bound is a connection that, like godbus' own, is closed when the context it
// was made with ends.
type bound struct {
	recorder
	life context.Context
}

func (b *bound) SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error {
	if b.life.Err() != nil {
		return errors.New("dbus: connection closed by user")
	}
	return b.recorder.SetUnitPropertiesContext(ctx, name, runtime, properties...)
}

// TestConnectionOutlivesTheHook: the connection stays open after the hook that opened it has
// ended, and the next hook uses it.
func TestConnectionOutlivesTheHook(t *testing.T) {
	u, dials := newUnits(nil), 0
	u.dial = func(ctx context.Context) (UnitSetter, error) {
		dials++
		return &bound{life: ctx}, nil
	}
	for range 2 {
		hook, end := context.WithCancel(t.Context())
		u.require(scope, noQuota())
		if err := u.persist(hook); err != nil {
			t.Error(err)
		}
		end()
		u.invalidate(scope)
	}
	if dials != 1 {
		t.Errorf("connected %d times, want once", dials)
	}
}

// TestConnectingTakesNoLongerThanTheHook: a connection that is ready only after the hook's
// deadline is closed.
func TestConnectingTakesNoLongerThanTheHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		units := newUnits(nil)
		units.dial = func(ctx context.Context) (UnitSetter, error) {
			<-ctx.Done()
			return &bound{life: ctx}, nil
		}
		units.require(scope, noQuota())
		hook, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if err := units.persist(hook); !errors.Is(err, context.DeadlineExceeded) || units.conn != nil {
			t.Errorf("persist = %v with connection %v, want the deadline and none", err, units.conn)
		}
	})
}

// TestPersistEnds: if systemd never answers, Persist returns after a timeout, even if the
// caller has no deadline.
func TestPersistEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, start := newUnits(&recorder{hang: make(chan struct{})}), time.Now()
		u.require(scope, noQuota())
		if err := u.persist(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("persist = %v, want the deadline", err)
		}
		if took := time.Since(start); took != persistTimeout {
			t.Errorf("persist took %v, want %v", took, persistTimeout)
		}
	})
}
