package cgroup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
)

// bound is a fake connection to systemd. Like a connection of godbus, it is closed when the context
// that created it ends.
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

// TestConnectionOutlivesTheHook checks that a connection stays open after the hook that opened it has
// ended, and that the next hook uses this connection.
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

// TestConnectingTakesNoLongerThanTheHook checks that persist fails and keeps no connection, if the
// connection is established only after the hook's deadline.
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

// TestPersistEnds checks that persist returns after persistTimeout if systemd never answers, even if
// its caller set no deadline.
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
